/** The rows of a run with their outcomes: filtered by outcome, reason and SIM, and retried one by one. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ActionButton } from "../../parts/action.tsx";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/form/button.tsx";
import { RowChanges } from "../../parts/changes.tsx";
import { Choices, TextField } from "../../parts/form/field.tsx";
import { Empty, Panel } from "../../parts/notice.tsx";
import { PageTable, usePages } from "../../parts/pages.tsx";
import { Said, SimLink } from "../../parts/ref.tsx";
import { Ago } from "../../parts/time.tsx";
import { place, replacePlace } from "../../place.ts";
import { grouped } from "../../pure/format.ts";
import { hrefOf } from "../../pure/route.ts";
import { type Outcome, type RunReport, type RunRow, outcomes } from "../../pure/shapes.ts";
import { isOver, retryable } from "../../pure/runs/tally.ts";
import { useSettled } from "../../state.ts";
import { followUp } from "./run-actions.tsx";

type Shown = Outcome | "all";

interface RowsProps {
  readonly report: RunReport;
  /** Whether the calls of a row may be repeated, so that single rows can be retried. */
  readonly isRepeatable: boolean;
}

export function RunRows({ report, isRepeatable }: RowsProps): JSX.Element {
  const { runId, counts, profile, state } = report;
  const { reason = "", outcome: asked } = place.value.query;
  const outcome: Shown = outcomes.find((one) => one === asked) ?? "all";
  const [search, setSearch] = useState("");
  const settled = useSettled(search.trim(), 250);
  const isLive = !isOver(state) || counts.pending > 0;
  const pages = usePages<RunRow>(`/v1/runs/${encodeURIComponent(runId)}/rows`, "rows", {
    query: { outcome: outcome === "all" ? undefined : outcome, reason, search: settled, limit: 15 },
    every: { ms: isLive ? 4_000 : 60_000, andOn: ["run."] },
  });
  const choose = (change: Readonly<Record<string, string | undefined>>): void =>
    replacePlace(hrefOf("runs", runId, { outcome: asked, reason, ...change }));
  const options = (["all", ...outcomes] as const)
    .filter((one) => one === "all" || one === outcome || counts[one] > 0)
    .map((value) => ({ value, text: value === "all" ? "all" : `${value} ${grouped(counts[value])}` }));
  const canRetry = isOver(state) && isRepeatable && retryable.some((one) => counts[one] > 0);
  const actions = {
    label: "Actions",
    kind: "act" as const,
    cell: (row: RunRow) =>
      retryable.includes(row.outcome) && (
        <ActionButton
          isSmall
          needs="operator"
          label={`Retry line ${grouped(row.line)}`}
          work={() => followUp(report, "retry", { outcomes: [row.outcome], lines: [row.line] })}
        >
          Retry
        </ActionButton>
      ),
  };
  return (
    <Panel
      title="Rows"
      actions={
        <>
          {reason !== "" && (
            <Button isSmall onPress={() => choose({ reason: undefined, outcome: undefined })}>
              All reasons
            </Button>
          )}
          <Choices<Shown>
            label="Filter rows by outcome"
            {...{ value: outcome, options }}
            onValue={(value) => choose({ outcome: value === "all" ? undefined : value, reason: undefined })}
          />
          <TextField isCompact label="SIM ID or IMSI" placeholder="SIM ID or IMSI" value={search} onValue={setSearch} />
        </>
      }
    >
      <div id="rows">
        <PageTable<RunRow>
          pages={pages}
          more="More rows"
          isDense
          label="Rows of the run"
          keyOf={({ line }) => line}
          empty={<Empty>No row matches.</Empty>}
          columns={[
            { label: "Line", kind: "number", cell: ({ line }) => grouped(line) },
            { label: "SIM", cell: ({ key }) => <SimLink sim={key} of={profile} /> },
            { label: "Change", cell: (row) => <RowChanges {...row} /> },
            { label: "Outcome", kind: "tight", cell: (row) => <Badge state={row.outcome} /> },
            { label: "Reason", cell: (row) => <Said text={row.reason} /> },
            { label: "Time", kind: "tight", cell: ({ finishedAt }) => finishedAt !== null && <Ago at={finishedAt} /> },
            ...(canRetry ? [actions] : []),
          ]}
        />
      </div>
    </Panel>
  );
}
