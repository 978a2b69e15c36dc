/** What can be done with the SIMs of the explorer: the selected ones, or all of the filter, become the plan of a run. */
import type { JSX } from "preact";
import { Button } from "../../parts/button.tsx";
import { say } from "../../parts/toasts.tsx";
import { goTo } from "../../place.ts";
import * as explorer from "../../pure/sims/explorer.ts";
import { hrefOf } from "../../pure/route.ts";
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
            onPress={() => plan(explorer.filterOfSims([...selected], keyColumn))}
          >
            {text.runForSelected(selected.size)}
          </Button>
          <Button kind="plain" onPress={onClear}>
            {text.clearSelection}
          </Button>
        </>
      )}
      <Button refusal={offAll} onPress={() => plan(explorer.filterOfShown(shown, keyColumn))}>
        {text.runForAll}
      </Button>
    </div>
  );
}

function plan(where: string | undefined): void {
  if (where === undefined) say(text.tooMany);
  else goTo(hrefOf("new", undefined, { where }));
}
