/** What happened to a SIM: runs and changes in one list, newest first. */
import type { JSX } from "preact";
import { Badge } from "../../parts/badge.tsx";
import { Empty, Panel, ProblemNotice, Waiting } from "../../parts/notice.tsx";
import { More, usePages } from "../../parts/pages.tsx";
import { Ref } from "../../parts/ref.tsx";
import { Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { hrefOf } from "../../pure/route.ts";
import type { Change, SimRun } from "../../pure/shapes.ts";
import { type Happening, timelineOf } from "../../pure/sims/sim-timeline.ts";
import { profile } from "../../session.ts";
import { changeWords } from "../../pure/events/event-texts.ts";
import { BeforeAfter } from "./changes.tsx";
import { RowChanges } from "../runs/row-changes.tsx";
import { Said } from "../../parts/said.tsx";

/** @param route of the SIM */
export function SimTimeline({ route, sim }: { route: string; sim: string }): JSX.Element {
  // The worker scans the rows of all runs for this, so that it is not asked often.
  const runs = usePages<SimRun>(`${route}/runs`, "runs", {
    query: { profile: profile.value, limit: 20 },
    every: { ms: 60_000 },
  });
  const changes = usePages<Change>("/v1/changes", "changes", {
    query: { profile: profile.value, limit: 50, sim },
    every: { ms: 60_000, andOn: ["sync.completed", "sim."] },
  });
  const { value, problem } = runs.first;
  const rows = timelineOf(runs.rows, changes.rows);
  return (
    <Panel title="Timeline" hint="Runs with a row for this SIM, and its changes, newest first">
      <ProblemNotice problem={problem ?? changes.first.problem} what="The timeline could not be loaded" />
      {value === undefined && problem === undefined && <Waiting what="the timeline" />}
      {value !== undefined && rows.length === 0 && (
        <Empty>
          {runs.hasMore
            ? "The newest runs have no row for this SIM, and no change is recorded."
            : "No run has a row for this SIM, and no change is recorded."}
        </Empty>
      )}
      {rows.length > 0 && (
        <Table<Happening>
          label="Timeline"
          rows={rows}
          keyOf={(row) => ("run" in row ? `${row.run.runId} ${row.run.line}` : row.change.id)}
          columns={[
            { label: "Time", kind: "tight", cell: ({ at }) => <Ago at={at} /> },
            { label: "What", cell: (row) => <What row={row} /> },
            { label: "Before and after", cell: (row) => <Difference row={row} /> },
            {
              label: "Outcome",
              kind: "tight",
              cell: (row) => "run" in row && <Badge state={row.run.outcome} />,
            },
            { label: "Reason", cell: (row) => "run" in row && <Said text={row.run.reason} /> },
          ]}
        />
      )}
      <More pages={runs} what="Search older runs" />
      <More pages={changes} what="Older changes" />
    </Panel>
  );
}

function What({ row }: { row: Happening }): JSX.Element {
  if ("run" in row) {
    const { runId, name, operation } = row.run;
    return (
      <>
        {name === "" ? <Ref id={runId} /> : <a href={hrefOf("runs", runId)}>{name}</a>}{" "}
        <span class="quiet">{operation}</span>
      </>
    );
  }
  const { type, field, by, cause } = row.change;
  const isOfRun = by === "run";
  return (
    <>
      {field === undefined ? (changeWords[type] ?? type) : `${field} changed`}{" "}
      <span class="quiet">{isOfRun ? <Ref id={cause} /> : "external"}</span>
    </>
  );
}

function Difference({ row }: { row: Happening }): JSX.Element | null {
  if (!("run" in row)) return row.change.field === undefined ? null : <BeforeAfter {...row.change} />;
  return <RowChanges {...row.run} />;
}
