/** All runs, newest first. */
import type { JSX } from "preact";
import { Badge } from "../../parts/badge.tsx";
import { OutcomeBar } from "../../parts/bars.tsx";
import { Choices } from "../../parts/field.tsx";
import { Empty, Loaded } from "../../parts/notice.tsx";
import { More, usePages } from "../../parts/pages.tsx";
import { Ref } from "../../parts/ref.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { View } from "../../parts/view.tsx";
import { place, replacePlace } from "../../place.ts";
import { duration, grouped, counted } from "../../pure/format.ts";
import { setSpeedClass } from "../../pure/runs/operation.ts";
import { hrefOf, viewTitles } from "../../pure/route.ts";
import type { RunReport, RunState } from "../../pure/shapes.ts";
import { isOver, settledRows } from "../../pure/runs/tally.ts";
import { hasProfiles } from "../../session.ts";

const states = [
  { value: "all", text: "All" },
  { value: "running", text: "Running" },
  { value: "paused", text: "Paused" },
  { value: "awaiting-approval", text: "Awaiting approval" },
  { value: "completed", text: "Completed" },
  { value: "aborted", text: "Aborted" },
  { value: "cancelled", text: "Cancelled" },
] satisfies { value: RunState | "all"; text: string }[];

export function Runs(): JSX.Element {
  const state = states.find(({ value }) => value === place.value.query.state)?.value ?? "all";
  const pages = usePages<RunReport>("/v1/runs", "runs", {
    query: { state: state === "all" ? undefined : state, limit: 25 },
    every: { ms: 5_000, andOn: ["run."] },
  });
  return (
    <View
      title={viewTitles.runs}
      actions={
        <a class="button is-main" href={hrefOf("new")}>
          {viewTitles.new}
        </a>
      }
    >
      <div>
        <Choices
          label="Filter runs by state"
          value={state}
          options={states}
          onValue={(value) => replacePlace(hrefOf("runs", undefined, { state: value === "all" ? undefined : value }))}
        />
      </div>
      <Loaded live={pages.first} what="runs">
        {() => (
          <section class="panel" aria-label="List of runs">
            {pages.rows.length > 0 ? (
              <RunTable runs={pages.rows} />
            ) : (
              <Empty command="simfleet apply fleet.csv">
                {state === "all"
                  ? "No runs yet. Start one with New run or on the command line."
                  : `No run is ${state.replaceAll("-", " ")}.`}
              </Empty>
            )}
            <More pages={pages} what="Older runs" />
          </section>
        )}
      </Loaded>
    </View>
  );
}

function RunTable({ runs }: { runs: readonly RunReport[] }): JSX.Element {
  const isMixed = runs.some(({ operation }) => operation !== setSpeedClass);
  const operationColumn: Column<RunReport> = {
    label: "Operation",
    kind: "tight",
    cell: ({ operation }) => operation,
  };
  return (
    <Table
      label={viewTitles.runs}
      rows={runs}
      keyOf={({ runId }) => runId}
      columns={[
        { label: "Run", cell: (run) => <RunName {...run} /> },
        ...(isMixed ? [operationColumn] : []),
        {
          label: "State",
          kind: "tight",
          cell: ({ state, problem }) => <Badge state={problem === undefined ? state : "stalled"} />,
        },
        { label: "Rows", cell: (run) => <Rows {...run} /> },
        { label: "Not done", kind: "number", cell: ({ counts }) => <NotDone {...counts} /> },
        { label: "Started", kind: "tight", cell: ({ startedAt }) => <Ago at={startedAt} none="not yet" /> },
        { label: "Time", kind: "tight", cell: timeText },
      ]}
    />
  );
}

function RunName({ runId, name, profile }: RunReport): JSX.Element {
  return (
    <>
      {name !== "" && <a href={hrefOf("runs", runId)}>{name}</a>}
      <span class="quiet">
        <Ref id={runId} />
        {hasProfiles.value && ` · ${profile}`}
      </span>
    </>
  );
}

function Rows({ counts }: RunReport): JSX.Element {
  return (
    <div class="run-rows">
      <OutcomeBar counts={counts} isSlim />
      <span class="quiet">{`${grouped(settledRows(counts))} of ${counted(counts.total, "row")}`}</span>
    </div>
  );
}

function NotDone({ rejected, failed, unknown }: RunReport["counts"]): JSX.Element | null {
  if (rejected + failed + unknown === 0) return null;
  return (
    <>
      {grouped(rejected + failed)}
      {unknown > 0 && <span class="quiet nowrap">{`${grouped(unknown)} unknown`}</span>}
    </>
  );
}

function timeText({ state, startedAt, finishedAt, etaSeconds }: RunReport): string {
  if (etaSeconds !== null) return `${duration(etaSeconds)} left`;
  if (!isOver(state) || startedAt === null || finishedAt === null) return "";
  return `took ${duration((Date.parse(finishedAt) - Date.parse(startedAt)) / 1_000)}`;
}
