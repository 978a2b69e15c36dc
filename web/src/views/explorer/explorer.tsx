/** The SIM explorer: find SIMs of the inventory by filter and search, and take some or all of them into a run. */
import type { JSX } from "preact";
import { useCallback, useMemo, useState } from "preact/hooks";
import { addressOf } from "../../ask.ts";
import { useLive } from "../../live.ts";
import { Select } from "../../parts/field.tsx";
import { Empty, ProblemNotice, Waiting } from "../../parts/notice.tsx";
import { usePages } from "../../parts/pages.tsx";
import { View } from "../../parts/view.tsx";
import { place, replacePlace } from "../../place.ts";
import * as explorer from "../../pure/sims/explorer.ts";
import { hrefOf } from "../../pure/route.ts";
import type { SimDocument, SimFields } from "../../pure/shapes.ts";
import { profile, profileReport } from "../../session.ts";
import { useStored } from "../../stored.ts";
import { FilterBuilder } from "./filter-builder.tsx";
import { ColumnChoice, SavedFilters } from "./saved-filters.tsx";
import { SearchField, useCount } from "./search-field.tsx";
import { SelectionBar } from "./selection-bar.tsx";
import { SimTable } from "./sim-table.tsx";
import { counted, grouped } from "../../pure/format.ts";

const pageSize = 100;
const minute = { ms: 60_000, andOn: ["sync.completed"] };

export function Explorer(): JSX.Element {
  const shown = explorer.shownOf(place.value.query);
  const show = (change: Partial<explorer.Shown>): void =>
    replacePlace(hrefOf("sims", undefined, explorer.queryOfShown({ ...shown, ...change })));
  const keyColumn = profileReport.value?.wording === "subscribers" ? "imsi" : "simId";
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
          <ColumnChoice all={explorer.columnsOf(known)} chosen={columns} onChosen={putColumns} />
        </>
      }
    >
      <section class="panel" aria-label="Conditions of the filter">
        <div class="explorer-find">
          <SearchField search={shown.search} keyColumn={keyColumn} onSearch={(search) => show({ search })} />
          <Select
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
        {...{ shown, keyColumn, columns }}
        total={total}
        sortable={explorer.sortableColumns(known, { count: total, maxSorted })}
        onSort={(field) => show({ sort: explorer.nextSort(shown.sort, field) })}
      />
    </View>
  );
}

interface FoundProps {
  readonly shown: explorer.Shown;
  readonly keyColumn: string;
  readonly columns: readonly string[];
  readonly total: number | undefined;
  readonly sortable: ReadonlySet<string>;
  readonly onSort: (field: string) => void;
}

function Found({ shown, keyColumn, columns, total, sortable, onSort }: FoundProps): JSX.Element {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const pages = usePages<SimDocument>("/v1/sims", "sims", {
    query: { ...explorer.queryOfShown(shown), profile: profile.value, limit: pageSize },
    every: minute,
  });
  const sims = useMemo(() => unique(pages.rows, keyColumn), [pages.rows.length, pages.first.value, keyColumn]);
  const { hasMore, more } = pages;
  const onNearEnd = useCallback(() => {
    if (hasMore) more();
  }, [hasMore, sims.length]);
  const isReading = pages.first.value === undefined && pages.first.problem === undefined;
  return (
    <>
      <ProblemNotice problem={pages.first.problem} what="The SIMs could not be loaded" />
      {isReading && <Waiting what="the SIMs" />}
      {!isReading && sims.length === 0 && pages.first.problem === undefined && (
        <section class="panel" aria-label="SIMs">
          <Nothing isFiltered={shown.where !== "" || shown.search !== ""} />
        </section>
      )}
      {sims.length > 0 && (
        <section class="panel explorer-list" aria-label="SIMs">
          <SelectionBar
            shown={shown}
            keyColumn={keyColumn}
            selected={selected}
            onClear={() => setSelected(new Set())}
          />
          <SimTable
            {...{ sims, keyColumn, columns, selected, onNearEnd, total, sortable, onSort }}
            sort={shown.sort}
            onSelect={setSelected}
          />
          <p class="quiet" role="status">
            {pages.isBusy ? "Loading more …" : `${grouped(sims.length)} loaded`}
          </p>
        </section>
      )}
    </>
  );
}

function unique(sims: readonly SimDocument[], keyColumn: string): SimDocument[] {
  return [...new Map(sims.map((sim) => [String(sim[keyColumn]), sim])).values()];
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
