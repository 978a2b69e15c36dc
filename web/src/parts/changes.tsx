/** Values of a SIM before and after a change. */
import type { JSX } from "preact";
import { valueText } from "../pure/format.ts";
import type { RunRow } from "../pure/shapes.ts";
import { Icon } from "./icon.tsx";
import { fieldLink } from "./ref.tsx";

interface BeforeAfterProps {
  readonly field?: string | undefined;
  readonly before?: unknown;
  readonly after?: unknown;
}

export function BeforeAfter({ field = "", before, after }: BeforeAfterProps): JSX.Element {
  return (
    <span class="change">
      {fieldLink(field, before) ?? valueText(before)}
      <Icon name="arrow" size={14} />
      <span class="only-heard">{" becomes "}</span>
      {fieldLink(field, after) ?? valueText(after)}
    </span>
  );
}

/** The fields that a row sets, or the values that it sends. */
export function RowChanges({ changes, inputs }: Pick<RunRow, "changes" | "inputs">): JSX.Element {
  if (changes.length === 0) return <>{Object.values(inputs).join(" · ")}</>;
  return (
    <>
      {changes.map(({ field, before = null, after }) => (
        <div key={field}>
          {changes.length > 1 && <span class="hint">{field} </span>}
          {before === null && after !== null ? (
            (fieldLink(field, after) ?? after)
          ) : (
            <BeforeAfter {...{ field, before, after }} />
          )}
        </div>
      ))}
    </>
  );
}
