/** What can be done with the SIMs of the explorer: the selected ones, or all of the filter, become the plan of a run. */
import type { JSX } from "preact";
import { Button } from "../../parts/button.tsx";
import { goTo } from "../../place.ts";
import * as explorer from "../../pure/sims/explorer.ts";
import { hrefOf } from "../../pure/route.ts";
import { putSelectedSims } from "../../selected-sims.ts";
import { simsText as text } from "../../strings/sims.ts";

interface SelectionProps {
  readonly shown: explorer.Shown;
  readonly keyColumn: string;
  readonly selected: ReadonlySet<string>;
  readonly onClear: () => void;
}

export function SelectionBar({ shown, keyColumn, selected, onClear }: SelectionProps): JSX.Element {
  const offAll = shown.gone ? text.notGone : shown.search === "" ? undefined : text.notWithSearch;
  return (
    <div class="actions explorer-actions">
      {selected.size > 0 && (
        <>
          <Button
            kind="main"
            refusal={shown.gone ? text.notGone : undefined}
            onPress={() => planSelected([...selected], keyColumn)}
          >
            {text.runForSelected(selected.size)}
          </Button>
          <Button kind="plain" onPress={onClear}>
            {text.clearSelection}
          </Button>
        </>
      )}
      <Button
        refusal={offAll}
        onPress={() => goTo(hrefOf("new", undefined, { where: explorer.filterOfShown(shown, keyColumn) }))}
      >
        {text.runForAll}
      </Button>
    </div>
  );
}

/** By a filter as long as it has room for the SIMs, since that can be changed and kept; else by a file. */
function planSelected(keys: readonly string[], keyColumn: string): void {
  const where = explorer.filterOfSims(keys, keyColumn);
  if (where === undefined) putSelectedSims(keys, keyColumn);
  goTo(hrefOf("new", undefined, { where }));
}
