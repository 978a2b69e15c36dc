/** The rows of a run with their outcomes: filtered by outcome and reason, searched, and retried row by row. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ask } from "../../ask.ts";
import { ActionButton } from "../../parts/action.tsx";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { RowChanges } from "../../parts/changes.tsx";
import { Choices, SearchForm } from "../../parts/field.tsx";
import { Empty, Panel } from "../../parts/notice.tsx";
import { PageTable, usePages } from "../../parts/pages.tsx";
import { confirmed } from "../../parts/question.tsx";
import { SimLink, Said } from "../../parts/ref.tsx";
import { Ago } from "../../parts/time.tsx";
import { goTo, place, replacePlace } from "../../place.ts";
import { counted, grouped } from "../../pure/format.ts";
import { hrefOf } from "../../pure/route.ts";
import { type FollowUpPlan, type Outcome, type RunReport, type RunRow, outcomes } from "../../pure/shapes.ts";
import { warningsText } from "./run-actions.tsx";
import { isOver } from "../../pure/runs/tally.ts";
import { useSettled } from "../../state.ts";

type Shown = Outcome | "all";

const retryable: ReadonlySet<Outcome> = new Set(["failed", "cancelled", "rejected"]);

interface RowsProps {
  readonly report: RunReport;
  readonly isLive: boolean;
  /** Whether the calls of a row may be repeated, so that single rows can be retried; undefined until it is known. */
  readonly isRepeatable: boolean | undefined;
}

export function RunRows({ report, isLive, isRepeatable }: RowsProps): JSX.Element {
  const { runId, counts, profile, state } = report;
  const { reason = "", outcome: asked } = place.value.query;
  const outcome: Shown = outcomes.find((one) => one === asked) ?? "all";
  const [search, setSearch] = useState("");
  const [selected, setSelected] = useState<ReadonlyMap<number, Outcome>>(new Map());
  const settled = useSettled(search.trim(), 250);
  const pages = usePages<RunRow>(`/v1/runs/${encodeURIComponent(runId)}/rows`, "rows", {
    query: { outcome: outcome === "all" ? undefined : outcome, reason, search: settled, limit: 50 },
    every: { ms: isLive ? 4_000 : 60_000, andOn: ["run."] },
  });
  useEffect(() => setSelected(new Map()), [runId, outcome, reason, settled]);
  const choose = (change: Readonly<Record<string, string | undefined>>): void =>
    replacePlace(hrefOf("runs", runId, { outcome: asked, reason, ...change }));
  const options = (["all", ...outcomes] as const)
    .filter((one) => one === "all" || one === outcome || counts[one] > 0)
    .map((value) => ({ value, text: value === "all" ? "all" : `${value} ${grouped(counts[value])}` }));
  const canRetry = isOver(state) && isRepeatable === true;
  const hasRetryable = [...retryable].some((one) => counts[one] > 0);
  const toggle = ({ line, outcome: of }: RunRow): void => {
    const next = new Map(selected);
    if (!next.delete(line)) next.set(line, of);
    setSelected(next);
  };
  return (
    <Panel
      title="Rows"
      actions={
        <Choices<Shown>
          label="Filter rows by outcome"
          {...{ value: outcome, options }}
          onValue={(value) => choose({ outcome: value === "all" ? undefined : value, reason: undefined })}
        />
      }
    >
      <div id="rows" class="explorer-find">
        <SearchForm label="Search by SIM ID or IMSI" value={search} onValue={setSearch} />
        {reason !== "" && (
          <span class="chip">
            <span>{reason}</span>
            <Button isSmall kind="plain" onPress={() => choose({ reason: undefined })}>
              All reasons
            </Button>
          </span>
        )}
        {selected.size > 0 && <RetryButton report={report} selected={selected} />}
      </div>
      {isOver(state) && isRepeatable === false && hasRetryable && (
        <p class="quiet">Rows cannot be selected for a retry, because calls of this operation must not be repeated.</p>
      )}
      <PageTable<RunRow>
        pages={pages}
        more="More rows"
        label="Rows of the run"
        keyOf={({ line }) => line}
        empty={<Empty>No row matches.</Empty>}
        columns={[
          ...(canRetry
            ? [
                {
                  label: "Select",
                  kind: "tight" as const,
                  cell: (row: RunRow) =>
                    retryable.has(row.outcome) && (
                      <input
                        type="checkbox"
                        aria-label={`Select line ${grouped(row.line)}`}
                        checked={selected.has(row.line)}
                        onChange={() => toggle(row)}
                      />
                    ),
                },
              ]
            : []),
          { label: "Line", kind: "number", cell: ({ line }) => grouped(line) },
          { label: "SIM", cell: ({ key }) => <SimLink sim={key} of={profile} /> },
          { label: "Change", cell: (row) => <RowChanges {...row} /> },
          { label: "Outcome", kind: "tight", cell: (row) => <Badge state={row.outcome} /> },
          { label: "Reason", cell: (row) => <Said text={row.reason} /> },
          {
            label: "Time",
            kind: "tight",
            cell: ({ finishedAt }) => finishedAt !== null && <Ago at={finishedAt} />,
          },
        ]}
      />
    </Panel>
  );
}

function RetryButton({ report, selected }: { report: RunReport; selected: ReadonlyMap<number, Outcome> }): JSX.Element {
  const route = `/v1/runs/${encodeURIComponent(report.runId)}/retry`;
  const lines = [...selected.keys()];
  const of = [...new Set(selected.values())];
  const retry = async (): Promise<string | undefined> => {
    const query = new URLSearchParams([["lines", lines.join(",")], ...of.map((one) => ["outcome", one])]);
    const plan = await ask<FollowUpPlan>(`${route}/plan?${query.toString()}`);
    const isMeant = await confirmed({
      title: `Retry ${counted(plan.total, "row")}?`,
      text: `A new run sends the selected rows again, in ${counted(plan.calls, "call")}.${warningsText(plan)}`,
      yes: `Retry ${counted(plan.total, "row")}`,
      ...(plan.irreversible > 0 ? { isDangerous: true, typed: plan.irreversible } : {}),
    });
    if (!isMeant) return undefined;
    const confirm = plan.irreversible > 0 ? { confirm: plan.irreversible } : {};
    const { runId } = await ask<RunReport>(route, { method: "POST", body: { outcomes: of, lines, ...confirm } });
    goTo(hrefOf("runs", runId));
    return `Run ${runId} started.`;
  };
  return (
    <ActionButton kind="main" needs="operator" work={retry}>
      {`Retry ${counted(selected.size, "selected row")}`}
    </ActionButton>
  );
}
