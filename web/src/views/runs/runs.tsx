/** All runs, newest first. */
import type { JSX } from "preact";
import { RunBadge } from "../../parts/badge.tsx";
import { OutcomeBar } from "../../parts/charts/bars.tsx";
import { Choices } from "../../parts/form/field.tsx";
import { Empty, Loaded } from "../../parts/notice.tsx";
import { More, usePages } from "../../parts/pages.tsx";
import { Ref } from "../../parts/ref.tsx";
import { Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { View } from "../../parts/view.tsx";
import { place, replacePlace } from "../../place.ts";
import { duration, grouped } from "../../pure/format.ts";
import { hrefOf, viewTitles } from "../../pure/route.ts";
import type { RunReport, RunState } from "../../pure/shapes.ts";
import { isOver } from "../../pure/runs/tally.ts";
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
            <Table
              isDense
              label={viewTitles.runs}
              rows={pages.rows}
              keyOf={({ runId }) => runId}
              empty={
                <Empty command="simfleet apply fleet.csv">
                  {state === "all"
                    ? "No runs yet. Start one with New run or on the command line."
                    : `No run is ${state.replaceAll("-", " ")}.`}
                </Empty>
              }
              columns={[
                { label: "Run", cell: (run) => <RunName {...run} /> },
                { label: "State", kind: "tight", cell: (run) => <RunBadge run={run} /> },
                { label: "Rows", cell: (run) => <Rows {...run} /> },
                { label: "Started", kind: "tight", cell: ({ startedAt }) => <Ago at={startedAt} none="not yet" /> },
                { label: "Time", kind: "tight", cell: timeText },
              ]}
            />
            <More pages={pages} what="Older runs" />
          </section>
        )}
      </Loaded>
    </View>
  );
}

function RunName({ runId, name, profile, operation }: RunReport): JSX.Element {
  return (
    <>
      {name !== "" && <a href={hrefOf("runs", runId)}>{name}</a>}
      <span class="quiet">
        <Ref id={runId} />
        {` · ${operation}`}
        {hasProfiles.value && ` · ${profile}`}
      </span>
    </>
  );
}

function Rows({ counts }: RunReport): JSX.Element {
  return (
    <div class="run-rows">
      <OutcomeBar counts={counts} isSlim />
      <span class="quiet">{`${grouped(counts.done)} of ${grouped(counts.total)} done`}</span>
    </div>
  );
}

function timeText({ state, startedAt, finishedAt, etaSeconds }: RunReport): string {
  if (etaSeconds !== null) return `${duration(etaSeconds)} left`;
  if (!isOver(state) || startedAt === null || finishedAt === null) return "";
  return `took ${duration((Date.parse(finishedAt) - Date.parse(startedAt)) / 1_000)}`;
}
