/** Filters that a person saved in this browser, and the choice of columns. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../../parts/button.tsx";
import { DropDown } from "../../parts/drop-down.tsx";
import { TextField, Tick } from "../../parts/field.tsx";
import { type Shown, queryOfShown } from "../../pure/sims/explorer.ts";
import { hrefOf } from "../../pure/route.ts";
import { useStored } from "../../stored.ts";

interface Saved {
  readonly name: string;
  readonly shown: Shown;
}

export function SavedFilters({ shown }: { shown: Shown }): JSX.Element {
  const [stored, put] = useStored<readonly Saved[]>("simfleet.filters");
  const [name, setName] = useState("");
  const saved = stored ?? [];
  const canSave = name.trim() !== "" && (shown.where !== "" || shown.search !== "");
  return (
    <DropDown label="Saved filters">
      <div class="panel">
        {saved.length === 0 && <p class="quiet">None yet. Filters are saved in this browser.</p>}
        <ul class="saved">
          {saved.map((one) => (
            <li key={one.name}>
              <a href={hrefOf("sims", undefined, queryOfShown(one.shown))}>{one.name}</a>
              <Button
                isSmall
                kind="plain"
                label={`Delete the filter ${one.name}`}
                onPress={() => put(saved.filter((other) => other !== one))}
              >
                Delete
              </Button>
            </li>
          ))}
        </ul>
        <form
          class="with-button"
          onSubmit={(event) => {
            event.preventDefault();
            if (!canSave) return;
            put([...saved.filter((one) => one.name !== name.trim()), { name: name.trim(), shown }]);
            setName("");
          }}
        >
          <TextField label="Name" value={name} onValue={setName} />
          <Button type="submit" refusal={canSave ? undefined : "Enter a name and a filter first."}>
            Save this filter
          </Button>
        </form>
      </div>
    </DropDown>
  );
}

interface ColumnChoiceProps {
  readonly all: readonly string[];
  readonly chosen: readonly string[];
  readonly onChosen: (columns: readonly string[]) => void;
}

/** In the order of all fields. */
export function ColumnChoice({ all, chosen, onChosen }: ColumnChoiceProps): JSX.Element {
  return (
    <DropDown label="Columns">
      <fieldset class="panel">
        <legend class="only-heard">Columns</legend>
        {all.map((name) => (
          <Tick
            key={name}
            label={name}
            isOn={chosen.includes(name)}
            onChange={(isOn) => onChosen(all.filter((one) => (one === name ? isOn : chosen.includes(one))))}
          />
        ))}
      </fieldset>
    </DropDown>
  );
}
