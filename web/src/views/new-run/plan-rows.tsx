/** A plan row by row: what each SIM is like now, and after the run. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Badge } from "../../parts/badge.tsx";
import { Choices } from "../../parts/field.tsx";
import { Empty, ProblemNotice } from "../../parts/notice.tsx";
import { More, usePages } from "../../parts/pages.tsx";
import { SimLink } from "../../parts/ref.tsx";
import { Table } from "../../parts/table.tsx";
import { grouped } from "../../pure/format.ts";
import { type PlanReport, type PlanRow, type RowVerdict, verdicts } from "../../pure/shapes.ts";
import { RowChanges } from "../runs/row-changes.tsx";

type Shown = RowVerdict | "all";

/** A plan does not change, so its rows are loaded once. */
const once = { ms: 3_600_000 };

export function PlanRows({ plan }: { plan: PlanReport }): JSX.Element {
  const [verdict, setVerdict] = useState<Shown>("all");
  const pages = usePages<PlanRow>(`/v1/plans/${encodeURIComponent(plan.planId)}/rows`, "rows", {
    query: { verdict: verdict === "all" ? undefined : verdict, limit: 20 },
    every: once,
  });
  const options = (["all", ...verdicts] as const)
    .filter((one) => one === "all" || plan.verdicts[one] > 0)
    .map((value) => ({
      value,
      text: value === "all" ? "all" : `${value.replaceAll("-", " ")} ${grouped(plan.verdicts[value])}`,
    }));
  return (
    <section aria-label="Rows of the plan" class="form">
      <div>
        <Choices<Shown> label="Filter rows by verdict" {...{ value: verdict, options }} onValue={setVerdict} />
      </div>
      <ProblemNotice problem={pages.first.problem} />
      {pages.first.value !== undefined && pages.rows.length === 0 && <Empty>No row has this verdict.</Empty>}
      {pages.rows.length > 0 && (
        <Table
          label="Rows of the plan"
          rows={pages.rows}
          keyOf={({ line }) => line}
          columns={[
            { label: "Line", kind: "number", cell: ({ line }) => grouped(line) },
            { label: "SIM", cell: ({ key }) => <SimLink sim={key} /> },
            { label: "Before and after", cell: (row) => <RowChanges {...row} /> },
            { label: "Verdict", kind: "tight", cell: (row) => <Badge state={row.verdict} /> },
            { label: "Problem", cell: ({ problem }) => problem?.message },
          ]}
        />
      )}
      <More pages={pages} what="More rows" />
    </section>
  );
}
