/** The rows of runs for one SIM. */
import type { JSX } from "preact";
import { Badge } from "../parts/badge.tsx";
import { Empty, Panel, ProblemNotice, Waiting } from "../parts/notice.tsx";
import { More, usePages } from "../parts/pages.tsx";
import { Table } from "../parts/table.tsx";
import { Ago } from "../parts/time.tsx";
import { hrefOf } from "../pure/route.ts";
import type { SimRun } from "../pure/shapes.ts";
import { profile } from "../session.ts";
import { RowChanges } from "./row-changes.tsx";

/** @param route of the SIM */
export function SimRuns({ route }: { route: string }): JSX.Element {
  // The worker scans the rows of all runs for this, so that it is not asked often.
  const pages = usePages<SimRun>(`${route}/runs`, "runs", {
    query: { profile: profile.value, limit: 20 },
    every: { ms: 60_000 },
  });
  const { value, problem } = pages.first;
  return (
    <Panel title="Runs" hint="Runs with a row for this SIM, newest first">
      <ProblemNotice problem={problem} what="The runs could not be read" />
      {value === undefined && problem === undefined && <Waiting what="the runs" />}
      {value !== undefined && pages.rows.length === 0 && (
        <Empty>{pages.hasMore ? "None of the newest runs has a row for it." : "No run has a row for it."}</Empty>
      )}
      {pages.rows.length > 0 && (
        <Table
          label="Runs of the SIM"
          rows={pages.rows}
          keyOf={({ runId, line }) => `${runId} ${line}`}
          columns={[
            {
              label: "Run",
              cell: ({ runId, name }) => <a href={hrefOf("runs", runId)}>{name === "" ? runId : name}</a>,
            },
            { label: "Operation", kind: "tight", cell: ({ operation }) => operation },
            { label: "Change", cell: (row) => <RowChanges {...row} /> },
            { label: "Outcome", kind: "tight", cell: ({ outcome }) => <Badge state={outcome} /> },
            { label: "Reason", cell: ({ reason }) => reason },
            { label: "At", kind: "tight", cell: ({ finishedAt, createdAt }) => <Ago at={finishedAt ?? createdAt} /> },
          ]}
        />
      )}
      <More pages={pages} what="Search older runs" />
    </Panel>
  );
}
