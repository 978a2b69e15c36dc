/** The rows of a run with their outcomes, filtered by outcome and paginated. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Badge } from "../parts/badge.tsx";
import { Choices } from "../parts/field.tsx";
import { Empty, Panel, ProblemNotice } from "../parts/notice.tsx";
import { More, usePages } from "../parts/pages.tsx";
import { SimLink } from "../parts/ref.tsx";
import { Table } from "../parts/table.tsx";
import { At } from "../parts/time.tsx";
import { grouped } from "../pure/format.ts";
import { type Outcome, type RunReport, type RunRow, outcomes } from "../pure/shapes.ts";
import { RowChanges } from "./row-changes.tsx";

type Shown = Outcome | "all";

export function RunRows({ report, isLive }: { report: RunReport; isLive: boolean }): JSX.Element {
  const { runId, counts, profile } = report;
  const [outcome, setOutcome] = useState<Shown>("all");
  const pages = usePages<RunRow>(`/v1/runs/${encodeURIComponent(runId)}/rows`, "rows", {
    query: { outcome: outcome === "all" ? undefined : outcome, limit: 50 },
    every: { ms: isLive ? 4_000 : 60_000, andOn: ["run."] },
  });
  const options = (["all", ...outcomes] as const)
    .filter((one) => one === "all" || one === outcome || counts[one] > 0)
    .map((value) => ({ value, text: value === "all" ? "all" : `${value} ${grouped(counts[value])}` }));
  return (
    <Panel
      title="Rows"
      actions={<Choices<Shown> label="Filter rows by outcome" {...{ value: outcome, options }} onValue={setOutcome} />}
    >
      <ProblemNotice problem={pages.first.problem} />
      {pages.first.value !== undefined && pages.rows.length === 0 && <Empty>No row has this outcome.</Empty>}
      {pages.rows.length > 0 && (
        <Table
          label="Rows of the run"
          rows={pages.rows}
          keyOf={({ line }) => line}
          columns={[
            { label: "Line", kind: "number", cell: ({ line }) => grouped(line) },
            { label: "SIM", cell: ({ key }) => <SimLink sim={key} of={profile} /> },
            { label: "Change", cell: (row) => <RowChanges {...row} /> },
            { label: "Outcome", kind: "tight", cell: (row) => <Badge state={row.outcome} /> },
            { label: "Reason", cell: ({ reason }) => reason },
            { label: "At", kind: "tight", cell: ({ finishedAt }) => finishedAt !== null && <At at={finishedAt} /> },
          ]}
        />
      )}
      <More pages={pages} what="More rows" />
    </Panel>
  );
}
