/** The SIMs: the fleet at a glance; SIMs of the inventory by filter or ID, some or all of which go into a run. */
import type { ComponentChildren, JSX } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { addressOf } from "../../ask.ts";
import { type Live, useLive } from "../../live.ts";
import { Button } from "../../parts/form/button.tsx";
import { DropDown } from "../../parts/form/drop-down.tsx";
import { Form, Select, TextField, Ticks } from "../../parts/form/field.tsx";
import { Empty, Loaded, ProblemNotice } from "../../parts/notice.tsx";
import { usePages } from "../../parts/pages.tsx";
import { View } from "../../parts/view.tsx";
import { goTo, place, replacePlace } from "../../place.ts";
import * as explorer from "../../pure/sims/explorer.ts";
import { hrefOf, viewTitles } from "../../pure/route.ts";
import type { FleetReport, SimCount, SimDocument, SimField, SimFields } from "../../pure/shapes.ts";
import { putSelectedSims } from "../../selected-sims.ts";
import { keyColumn, profile } from "../../session.ts";
import { useSettled, useStored } from "../../state.ts";
import { ConditionForm } from "./condition-form.tsx";
import { FleetCounts, History, SyncButton, SyncText } from "./fleet.tsx";
import { SimTable } from "./sim-table.tsx";
import { counted, grouped } from "../../pure/format.ts";

const pageSize = 100;
const minute = { ms: 60_000, andOn: ["sync.completed"] };

export function Sims(): JSX.Element {
  const shown = explorer.shownOf(place.value.query);
  const show = (change: Partial<explorer.Shown>): void =>
    replacePlace(hrefOf("sims", undefined, explorer.queryOfShown({ ...shown, ...change })));
  const fleet = useLive<FleetReport>(addressOf("/v1/fleet", { profile: profile.value }), {
    ms: 5_000,
    andOn: ["sync.", "run."],
  });
  const fields = useLive<SimFields>(addressOf("/v1/sims/fields", { profile: profile.value }), minute);
  const { fields: known, maxSorted } = fields.value ?? { fields: [], maxSorted: 0 };
  const [stored, putColumns] = useStored<readonly string[]>("simfleet.columns");
  const columns = stored ?? explorer.firstColumns(known);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const address = JSON.stringify(shown);
  useEffect(() => setSelected(new Set()), [address]);
  const count = useCount(shown);
  const total = count.value?.isExact === true ? count.value.count : undefined;
  return (
    <View
      title={viewTitles.sims}
      says={
        <>
          <span role="status">
            {count.value === undefined ? count.problem === undefined && "Counting …" : countText(count.value)}
          </span>
          {fleet.value !== undefined && " · "}
          {fleet.value !== undefined && <SyncText sync={fleet.value.lastSync} />}
        </>
      }
      actions={
        <>
          <SyncButton sync={fleet.value?.lastSync} onDone={fleet.refresh} />
          <PlanButton shown={shown} selected={selected} />
        </>
      }
    >
      <section class="panel sims-find" aria-label="Filter">
        <ProblemNotice problem={fleet.problem} what="The fleet could not be loaded" />
        {fleet.value !== undefined && <FleetCounts fleet={fleet.value} />}
        <FilterBar {...{ shown, show, known }}>
          <SavedFilters shown={shown} />
          <DropDown label="Columns">
            <Ticks
              legend="Columns"
              class="panel"
              options={explorer.columnsOf(known).map((name) => ({ value: name, text: explorer.fieldTitle(name) }))}
              chosen={columns}
              onChosen={putColumns}
            />
          </DropDown>
        </FilterBar>
      </section>
      <Found
        key={address}
        {...{ shown, columns, selected, total }}
        onSelect={setSelected}
        sortable={explorer.sortableColumns(known, { count: total, maxSorted })}
        onSort={(field) => show({ sort: explorer.nextSort(shown.sort, field) })}
      />
      <History />
    </View>
  );
}

function countText({ count, isExact }: SimCount): string {
  return `${counted(count, "SIM")}${isExact ? "" : " or more"}`;
}

interface FilterProps {
  readonly shown: explorer.Shown;
  readonly show: (change: Partial<explorer.Shown>) => void;
  readonly known: readonly SimField[];
  readonly children: ComponentChildren;
}

/** One field for a filter and for a part of an ID; conditions of known fields are added to it. */
function FilterBar({ shown, show, known, children }: FilterProps): JSX.Element {
  const given = shown.where === "" ? shown.search : shown.where;
  const [written, setWritten] = useState(given);
  const [condition, setCondition] = useState<string | undefined>();
  useEffect(() => setWritten(given), [given]);
  const draft = explorer.searchOrFilter(condition ?? written);
  const isDraft = draft.where !== shown.where || draft.search !== shown.search;
  const drafted = useCount(isDraft ? { ...shown, ...draft } : undefined);
  const problem = drafted.problem?.message;
  const said = problem ?? (drafted.value && `${countText(drafted.value)} with this filter`);
  return (
    <>
      <div class="with-button">
        <Form class="with-button" label="Filter" onSubmit={() => show(explorer.searchOrFilter(written))}>
          <TextField
            isCompact
            label="Filter, or a part of an ID"
            value={written}
            onValue={setWritten}
            placeholder="speedClass=s1.fast, or 8942310"
          />
          <Button type="submit">Show</Button>
          {given !== "" && (
            <Button kind="plain" onPress={() => show({ where: "", search: "" })}>
              Clear
            </Button>
          )}
        </Form>
        <DropDown label="Add a condition">
          <ConditionForm
            where={shown.where}
            fields={known}
            onDraft={setCondition}
            onWhere={(where) => show({ where, search: "" })}
          />
        </DropDown>
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
        {children}
      </div>
      {isDraft && said !== undefined && (
        <p class={problem === undefined ? "hint" : "fault"} role="status">
          {said}
        </p>
      )}
    </>
  );
}

interface FoundProps {
  readonly shown: explorer.Shown;
  readonly columns: readonly string[];
  readonly total: number | undefined;
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (selected: ReadonlySet<string>) => void;
  readonly sortable: ReadonlySet<string>;
  readonly onSort: (field: string) => void;
}

function Found({ shown, columns, total, ...table }: FoundProps): JSX.Element {
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
          <section class="panel sims-list" aria-label="SIMs">
            <SimTable {...{ ...table, total, sims, columns, onNearEnd }} sort={shown.sort} />
            <p class="quiet" role="status">
              {isBusy
                ? "Loading more …"
                : `${grouped(sims.length)}${total === undefined ? "" : ` of ${grouped(total)}`} loaded`}
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
    <Empty command="simfleet sims sync">The inventory is empty. Press Sync now, or run this command:</Empty>
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

interface Saved {
  readonly name: string;
  readonly shown: explorer.Shown;
}

/** Filters that a user saved in this browser. */
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

interface PlanProps {
  readonly shown: explorer.Shown;
  readonly selected: ReadonlySet<string>;
}

/** The selected SIMs become the plan of a run; without a selection, all of the filter. */
function PlanButton({ shown, selected }: PlanProps): JSX.Element {
  const hasSome = selected.size > 0;
  const off = shown.gone
    ? "A run cannot change SIMs that the platform no longer lists."
    : shown.search === "" || hasSome
      ? undefined
      : "A run cannot use a part of an ID: select SIMs, or add a condition.";
  const plan = (): void =>
    hasSome
      ? planSelected([...selected])
      : goTo(hrefOf("new", undefined, { where: explorer.filterOfShown(shown, keyColumn.value) }));
  return (
    <Button kind="main" refusal={off} onPress={plan}>
      {hasSome ? `New run for ${counted(selected.size, "selected SIM")}` : "New run for these SIMs"}
    </Button>
  );
}

/** By a filter as long as it has room for the SIMs, since that can be changed and kept; else by a file. */
function planSelected(keys: readonly string[]): void {
  const where = explorer.filterOfSims(keys, keyColumn.value);
  if (where === undefined) putSelectedSims(keys, keyColumn.value);
  goTo(hrefOf("new", undefined, { where }));
}
