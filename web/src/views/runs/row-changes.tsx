/** What a row does to its SIM: the fields that it sets, or the values that it sends. */
import type { JSX } from "preact";
import { fieldLink } from "../../parts/ref.tsx";
import type { RunRow } from "../../pure/shapes.ts";
import { BeforeAfter } from "../sims/changes.tsx";

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
