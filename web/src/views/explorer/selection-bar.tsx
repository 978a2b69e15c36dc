/** What can be done with the SIMs of the explorer: the selected ones, or all of the filter, become the plan of a run. */
import type { JSX } from "preact";
import { Button } from "../../parts/button.tsx";
import { goTo } from "../../place.ts";
import * as explorer from "../../pure/sims/explorer.ts";
import { hrefOf } from "../../pure/route.ts";
import { putSelectedSims } from "../../selected-sims.ts";
import { counted } from "../../pure/format.ts";

const notGone = "A run cannot change SIMs that the platform no longer lists.";

interface SelectionProps {
  readonly shown: explorer.Shown;
  readonly keyColumn: string;
  readonly selected: ReadonlySet<string>;
  readonly onClear: () => void;
}

export function SelectionBar({ shown, keyColumn, selected, onClear }: SelectionProps): JSX.Element {
  const offAll = shown.gone
    ? notGone
    : shown.search === ""
      ? undefined
      : "A run cannot use a search: select SIMs, or add a condition.";
  return (
    <div class="actions explorer-actions">
      {selected.size > 0 && (
        <>
          <Button
            kind="main"
            refusal={shown.gone ? notGone : undefined}
            onPress={() => planSelected([...selected], keyColumn)}
          >
            {`New run for ${counted(selected.size, "selected SIM")}`}
          </Button>
          <Button kind="plain" onPress={onClear}>
            Clear the selection
          </Button>
        </>
      )}
      <Button
        refusal={offAll}
        onPress={() => goTo(hrefOf("new", undefined, { where: explorer.filterOfShown(shown, keyColumn) }))}
      >
        New run for all matching SIMs
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
