/**
 * The result of a plan: verdicts, calls, duration, warnings, problems by line, rows; and the button that starts the
 * run.
 */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ask } from "../../ask.ts";
import { useAction } from "../../parts/action.tsx";
import { Badge } from "../../parts/badge.tsx";
import { Figure } from "../../parts/bars.tsx";
import { Button } from "../../parts/button.tsx";
import { RowChanges } from "../../parts/changes.tsx";
import { Choices } from "../../parts/field.tsx";
import { Empty, Notice } from "../../parts/notice.tsx";
import { PageTable, usePages } from "../../parts/pages.tsx";
import type { Question } from "../../parts/question.tsx";
import { SimLink } from "../../parts/ref.tsx";
import { Table } from "../../parts/table.tsx";
import { goTo } from "../../place.ts";
import { duration, grouped, counted } from "../../pure/format.ts";
import type { PlanForm } from "../../pure/runs/plan-options.ts";
import { cautionsOfPlan } from "../../pure/runs/operation.ts";
import { hrefOf } from "../../pure/route.ts";
import {
  type PlanReport,
  type PlanRow,
  type RowVerdict,
  type RunReport,
  verdicts as allVerdicts,
} from "../../pure/shapes.ts";
import { profile, refusal } from "../../session.ts";

interface ResultProps {
  readonly plan: PlanReport;
  readonly form: PlanForm;
  /** Something was changed after the plan was made. */
  readonly isStale: boolean;
}

export function PlanResult({ plan, form, isStale }: ResultProps): JSX.Element {
  const { warnings, problems } = plan;
  return (
    <div class="form">
      <Figures plan={plan} />
      <Cautions plan={plan} />
      {warnings.map((warning) => (
        <Notice key={warning} kind="warn">
          {warning}
        </Notice>
      ))}
      {problems.length > 0 && (
        <section aria-label="Problems">
          <h3>{`${counted(plan.problemsInAll, "row")} cannot be sent${plan.problemsInAll > problems.length ? `; the first ${grouped(problems.length)}` : ""}`}</h3>
          <Table
            label="Problems in the file"
            rows={problems}
            keyOf={({ line, column }) => `${line} ${column}`}
            columns={[
              { label: "Line", kind: "number", cell: ({ line }) => grouped(line) },
              { label: "Column", cell: ({ column }) => column },
              { label: "Problem", cell: ({ message }) => message },
            ]}
          />
        </section>
      )}
      <PlanRows plan={plan} />
      <Start plan={plan} form={form} isStale={isStale} />
    </div>
  );
}

function unchangedNote({ verdicts: { unchanged }, unchangedSkipped }: PlanReport): string | undefined {
  if (unchanged === 0) return undefined;
  if (unchangedSkipped === unchanged) return "skipped, no call";
  return unchangedSkipped === 0 ? "will be sent anyway" : `${grouped(unchangedSkipped)} skipped, the rest sent`;
}

function Figures({ plan }: Pick<ResultProps, "plan">): JSX.Element {
  const { rows, verdicts, calls, estimateSeconds, othersPerMinute, problemsInAll } = plan;
  return (
    <dl class="figures">
      <Figure label="Rows">{grouped(rows)}</Figure>
      <Figure
        label="To change"
        note={
          verdicts["not-in-inventory"] > 0
            ? `and ${grouped(verdicts["not-in-inventory"])} not in the inventory`
            : undefined
        }
      >
        {grouped(verdicts.change)}
      </Figure>
      <Figure label="Unchanged" note={unchangedNote(plan)}>
        {grouped(verdicts.unchanged)}
      </Figure>
      <Figure label="Cannot be sent" note={refusedText(plan)}>
        {grouped(problemsInAll)}
      </Figure>
      <Figure label="Calls">{grouped(calls)}</Figure>
      <Figure label="Time" note={timeNote(estimateSeconds, othersPerMinute)}>
        {estimateSeconds === null ? "unknown" : duration(estimateSeconds)}
      </Figure>
    </dl>
  );
}

function timeNote(seconds: number | null, othersPerMinute: number): string {
  if (seconds === null) return "quota not known yet";
  return othersPerMinute === 0 ? "at the current quota" : `leaves ${grouped(othersPerMinute)} calls a minute to others`;
}

function refusedText({ verdicts }: PlanReport): string | undefined {
  const parts = [
    verdicts["not-allowed"] > 0 ? `${grouped(verdicts["not-allowed"])} not allowed` : "",
    verdicts.conflict > 0 ? `${grouped(verdicts.conflict)} in conflict` : "",
  ].filter((part) => part !== "");
  return parts.length === 0 ? undefined : parts.join(", ");
}

/** What starting it costs, and what cannot be taken back. */
function Cautions({ plan }: { plan: PlanReport }): JSX.Element | null {
  const cautions = cautionsOfPlan(plan);
  if (cautions.length === 0) return null;
  return (
    <Notice kind={plan.irreversible > 0 ? "bad" : "warn"}>
      {cautions.map((caution) => (
        <span key={caution}>{caution}</span>
      ))}
    </Notice>
  );
}

function Start({ plan, form, isStale }: ResultProps): JSX.Element {
  const { isBusy, act } = useAction();
  const { planId, rows, problemsInAll, irreversible } = plan;
  const off =
    refusal("operator") ??
    (isStale ? "The settings changed: update the plan first." : undefined) ??
    (problemsInAll > 0 && !form.partial
      ? 'Fix the rows, or select "Skip invalid rows" and update the plan.'
      : undefined) ??
    (rows === problemsInAll ? "No row can be sent." : undefined);
  const start = async (): Promise<string> => {
    // A plan becomes one run, however often it is submitted.
    const query = { planId, ...(irreversible > 0 ? { confirm: irreversible } : {}) };
    const headers = { "idempotency-key": `dashboard-${planId}` };
    const run = await ask<RunReport>("/v1/runs", { method: "POST", query, headers });
    goTo(hrefOf("runs", run.runId));
    return `Run ${run.runId} started.`;
  };
  return (
    <div class="actions">
      <Button kind="main" refusal={off} isBusy={isBusy} onPress={() => act(start, questionOf(plan))}>
        {isBusy ? "Starting …" : "Start the run"}
      </Button>
      {off !== undefined && <span class="hint">{off}</span>}
    </div>
  );
}

function questionOf(plan: PlanReport): Question {
  const { operation, calls, rows, problemsInAll, estimateSeconds, hasUndo, irreversible } = plan;
  const time = estimateSeconds === null || estimateSeconds === 0 ? undefined : duration(estimateSeconds);
  const what = `${counted(rows - problemsInAll, "row")} of the profile ${profile.value}${time === undefined ? "" : `, about ${time}`}.`;
  return {
    title: `Start ${operation} with ${counted(calls, "call")}?`,
    text: [what, ...cautionsOfPlan(plan), `You can pause it${hasUndo ? " and undo it later" : ""}.`].join(" "),
    yes: "Start the run",
    isDangerous: irreversible > 0,
    typed: irreversible > 0 ? irreversible : undefined,
  };
}

type Shown = RowVerdict | "all";

/** A plan does not change, so its rows are loaded once. */
const once = { ms: 3_600_000 };

/** The plan row by row: what each SIM is like now, and after the run. */
function PlanRows({ plan }: { plan: PlanReport }): JSX.Element {
  const [verdict, setVerdict] = useState<Shown>("all");
  const pages = usePages<PlanRow>(`/v1/plans/${encodeURIComponent(plan.planId)}/rows`, "rows", {
    query: { verdict: verdict === "all" ? undefined : verdict, limit: 20 },
    every: once,
  });
  const options = (["all", ...allVerdicts] as const)
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
      <PageTable
        pages={pages}
        more="More rows"
        label="Rows of the plan"
        keyOf={({ line }) => line}
        empty={<Empty>No row has this verdict.</Empty>}
        columns={[
          { label: "Line", kind: "number", cell: ({ line }) => grouped(line) },
          { label: "SIM", cell: ({ key }) => <SimLink sim={key} /> },
          { label: "Before and after", cell: (row) => <RowChanges {...row} /> },
          { label: "Verdict", kind: "tight", cell: (row) => <Badge state={row.verdict} /> },
          { label: "Problem", cell: ({ problem }) => problem?.message },
        ]}
      />
    </section>
  );
}
