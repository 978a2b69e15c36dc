/** The SIM explorer: find SIMs of the inventory by filter and search, and take some or all of them into a run. */
import type { JSX } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { addressOf } from "../../ask.ts";
import { type Live, useLive } from "../../live.ts";
import { Button } from "../../parts/button.tsx";
import { DropDown } from "../../parts/drop-down.tsx";
import { Form, SearchForm, Select, TextField, Ticks } from "../../parts/field.tsx";
import { Empty, Loaded } from "../../parts/notice.tsx";
import { usePages } from "../../parts/pages.tsx";
import { View } from "../../parts/view.tsx";
import { goTo, place, replacePlace } from "../../place.ts";
import * as explorer from "../../pure/sims/explorer.ts";
import { hrefOf } from "../../pure/route.ts";
import type { SimCount, SimDocument, SimFields } from "../../pure/shapes.ts";
import { putSelectedSims } from "../../selected-sims.ts";
import { keyColumn, profile } from "../../session.ts";
import { useSettled, useStored } from "../../state.ts";
import { FilterBuilder } from "./filter-builder.tsx";
import { SimTable } from "./sim-table.tsx";
import { counted, grouped } from "../../pure/format.ts";

const pageSize = 100;
const minute = { ms: 60_000, andOn: ["sync.completed"] };

export function Explorer(): JSX.Element {
  const shown = explorer.shownOf(place.value.query);
  const show = (change: Partial<explorer.Shown>): void =>
    replacePlace(hrefOf("sims", undefined, explorer.queryOfShown({ ...shown, ...change })));
  const fields = useLive<SimFields>(addressOf("/v1/sims/fields", { profile: profile.value }), minute);
  const { fields: known, maxSorted } = fields.value ?? { fields: [], maxSorted: 0 };
  const [stored, putColumns] = useStored<readonly string[]>("simfleet.columns");
  const columns = stored ?? explorer.firstColumns(known);
  const [draft, setDraft] = useState<string | undefined>();
  const count = useCount(shown);
  const drafted = useCount(draft === undefined ? undefined : { ...shown, where: draft });
  const address = JSON.stringify(shown);
  const total = count.value?.isExact === true ? count.value.count : undefined;
  return (
    <View
      title="SIMs"
      says={
        <span role="status">
          {count.value === undefined
            ? count.problem === undefined && "Counting …"
            : `${counted(count.value.count, "SIM")}${count.value.isExact ? "" : " or more"}`}
        </span>
      }
      actions={
        <>
          <SavedFilters shown={shown} />
          <DropDown label="Columns">
            <Ticks
              legend="Columns"
              class="panel"
              options={explorer.columnsOf(known).map((name) => ({ value: name, text: name }))}
              chosen={columns}
              onChosen={putColumns}
            />
          </DropDown>
        </>
      }
    >
      <section class="panel" aria-label="Conditions of the filter">
        <div class="explorer-find">
          <SearchField search={shown.search} onSearch={(search) => show({ search })} />
          <Select
            isCompact
            label="Which SIMs"
            value={shown.gone ? "gone" : "listed"}
            options={[
              { value: "listed", text: "Listed" },
              { value: "gone", text: "No longer listed" },
            ]}
            onValue={(value) => show({ gone: value === "gone" })}
          />
        </div>
        <FilterBuilder
          where={shown.where}
          fields={known}
          onWhere={(where) => show({ where })}
          onDraft={setDraft}
          draftCount={
            drafted.problem?.message ??
            (drafted.value === undefined
              ? undefined
              : `${grouped(drafted.value.count)}${drafted.value.isExact ? "" : " or more"} with this condition`)
          }
        />
      </section>
      <Found
        key={address}
        {...{ shown, columns }}
        total={total}
        sortable={explorer.sortableColumns(known, { count: total, maxSorted })}
        onSort={(field) => show({ sort: explorer.nextSort(shown.sort, field) })}
      />
    </View>
  );
}

interface FoundProps {
  readonly shown: explorer.Shown;
  readonly columns: readonly string[];
  readonly total: number | undefined;
  readonly sortable: ReadonlySet<string>;
  readonly onSort: (field: string) => void;
}

function Found({ shown, columns, total, sortable, onSort }: FoundProps): JSX.Element {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const pages = usePages<SimDocument>("/v1/sims", "sims", {
    query: { ...explorer.queryOfShown(shown), profile: profile.value, limit: pageSize },
    every: minute,
  });
  const sims = useMemo(() => unique(pages.rows), [pages.rows.length, pages.first.value]);
  const { hasMore, isBusy, more } = pages;
  const onNearEnd = useCallback(() => {
    if (hasMore && !isBusy) more();
  }, [hasMore, isBusy, sims.length]);
  return (
    <Loaded live={pages.first} what="SIMs">
      {() =>
        sims.length === 0 ? (
          <section class="panel" aria-label="SIMs">
            <Nothing isFiltered={shown.where !== "" || shown.search !== ""} />
          </section>
        ) : (
          <section class="panel explorer-list" aria-label="SIMs">
            <SelectionBar shown={shown} selected={selected} onClear={() => setSelected(new Set())} />
            <SimTable
              {...{ sims, columns, selected, onNearEnd, total, sortable, onSort }}
              sort={shown.sort}
              onSelect={setSelected}
            />
            <p class="quiet" role="status">
              {isBusy ? "Loading more …" : `${grouped(sims.length)} loaded`}
            </p>
          </section>
        )
      }
    </Loaded>
  );
}

function unique(sims: readonly SimDocument[]): SimDocument[] {
  return [...new Map(sims.map((sim) => [String(sim[keyColumn.value]), sim])).values()];
}

function Nothing({ isFiltered }: { isFiltered: boolean }): JSX.Element {
  return isFiltered ? (
    <Empty>No SIM matches.</Empty>
  ) : (
    <Empty command="simfleet sims sync">
      The inventory is empty. Sync the fleet on the Fleet page or with this command:
    </Empty>
  );
}

const pauseMs = 250;

/** The number of SIMs, a moment after the last key. */
function useCount(shown: explorer.Shown | undefined): Live<SimCount> {
  const { sort: _, ...query } = shown === undefined ? { sort: "" } : explorer.queryOfShown(shown);
  const wanted = shown === undefined ? undefined : addressOf("/v1/sims/count", { ...query, profile: profile.value });
  const settled = useSettled(wanted, pauseMs);
  return useLive<SimCount>(settled, { ms: 60_000, andOn: ["sync.completed"] });
}

interface SearchProps {
  readonly search: string;
  readonly onSearch: (search: string) => void;
}

/** The search waits until the person pauses. */
function SearchField({ search, onSearch }: SearchProps): JSX.Element {
  const [written, setWritten] = useState(search);
  const settled = useSettled(written, pauseMs);
  const label = keyColumn.value === "imsi" ? "Search by IMSI or SIM ID" : "Search by SIM ID or IMSI";
  useEffect(() => setWritten(search), [search]);
  useEffect(() => {
    if (settled === written && settled.trim() !== search) onSearch(settled.trim());
  }, [settled]);
  return <SearchForm label={label} value={written} onValue={setWritten} />;
}

interface Saved {
  readonly name: string;
  readonly shown: explorer.Shown;
}

/** Filters that a person saved in this browser. */
function SavedFilters({ shown }: { shown: explorer.Shown }): JSX.Element {
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
              <a href={hrefOf("sims", undefined, explorer.queryOfShown(one.shown))}>{one.name}</a>
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
        <Form
          class="with-button"
          onSubmit={() => {
            if (!canSave) return;
            put([...saved.filter((one) => one.name !== name.trim()), { name: name.trim(), shown }]);
            setName("");
          }}
        >
          <TextField label="Name" value={name} onValue={setName} />
          <Button type="submit" refusal={canSave ? undefined : "Enter a name and a filter first."}>
            Save this filter
          </Button>
        </Form>
      </div>
    </DropDown>
  );
}

const notGone = "A run cannot change SIMs that the platform no longer lists.";

interface SelectionProps {
  readonly shown: explorer.Shown;
  readonly selected: ReadonlySet<string>;
  readonly onClear: () => void;
}

/** What can be done with the SIMs: the selected ones, or all of the filter, become the plan of a run. */
function SelectionBar({ shown, selected, onClear }: SelectionProps): JSX.Element {
  const offAll = shown.gone
    ? notGone
    : shown.search === ""
      ? undefined
      : "A run cannot use a search: select SIMs, or add a condition.";
  return (
    <div class="actions explorer-actions">
      {selected.size > 0 && (
        <>
          <Button kind="main" refusal={shown.gone ? notGone : undefined} onPress={() => planSelected([...selected])}>
            {`New run for ${counted(selected.size, "selected SIM")}`}
          </Button>
          <Button kind="plain" onPress={onClear}>
            Clear the selection
          </Button>
        </>
      )}
      <Button
        refusal={offAll}
        onPress={() => goTo(hrefOf("new", undefined, { where: explorer.filterOfShown(shown, keyColumn.value) }))}
      >
        New run for all matching SIMs
      </Button>
    </div>
  );
}

/** By a filter as long as it has room for the SIMs, since that can be changed and kept; else by a file. */
function planSelected(keys: readonly string[]): void {
  const where = explorer.filterOfSims(keys, keyColumn.value);
  if (where === undefined) putSelectedSims(keys, keyColumn.value);
  goTo(hrefOf("new", undefined, { where }));
}
