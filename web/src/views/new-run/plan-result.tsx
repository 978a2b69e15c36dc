/**
 * The result of a plan: verdicts, calls, duration, warnings, problems by line, rows; and the button that starts the
 * run.
 */
import type { JSX } from "preact";
import { ask } from "../../ask.ts";
import { Figure } from "../../parts/bars.tsx";
import { Button, useAction } from "../../parts/button.tsx";
import { Notice } from "../../parts/notice.tsx";
import { confirmed } from "../../parts/question.tsx";
import { Table } from "../../parts/table.tsx";
import { goTo } from "../../place.ts";
import { duration, grouped } from "../../pure/format.ts";
import type { PlanForm } from "../../pure/runs/plan-options.ts";
import { cautionsOfPlan } from "../../pure/runs/operation.ts";
import { hrefOf } from "../../pure/route.ts";
import type { PlanReport, RunReport } from "../../pure/shapes.ts";
import { profile, refusal } from "../../session.ts";
import { planText as text } from "../../strings/new-run.ts";
import { columnsText } from "../../strings/parts.ts";
import { runText } from "../../strings/run.ts";
import { PlanRows } from "./plan-rows.tsx";

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
      <Figures plan={plan} form={form} />
      <Cautions plan={plan} />
      {warnings.map((warning) => (
        <Notice key={warning} kind="warn">
          {warning}
        </Notice>
      ))}
      {problems.length > 0 && (
        <section aria-label={text.problems}>
          <h3>{text.problemsTitle(plan.problemsInAll, problems.length)}</h3>
          <Table
            label={text.problemsInFile}
            rows={problems}
            keyOf={({ line, column }) => `${line} ${column}`}
            columns={[
              { label: columnsText.line, kind: "number", cell: ({ line }) => grouped(line) },
              { label: text.column, cell: ({ column }) => column },
              { label: columnsText.problem, cell: ({ message }) => message },
            ]}
          />
        </section>
      )}
      <PlanRows plan={plan} />
      <Start plan={plan} form={form} isStale={isStale} />
    </div>
  );
}

function Figures({ plan, form }: Omit<ResultProps, "isStale">): JSX.Element {
  const { rows, verdicts, calls, estimateSeconds, problemsInAll } = plan;
  return (
    <dl class="figures">
      <Figure label={text.rows}>{grouped(rows)}</Figure>
      <Figure label={text.change} note={verdicts.unknown > 0 ? text.alsoUnknown(verdicts.unknown) : undefined}>
        {grouped(verdicts.change)}
      </Figure>
      <Figure label={text.unchanged} note={form.skipUnchanged ? text.unchangedSkipped : text.unchangedSent}>
        {grouped(verdicts.unchanged)}
      </Figure>
      <Figure label={text.refused} note={refusedText(plan)}>
        {grouped(problemsInAll)}
      </Figure>
      <Figure label={text.calls}>{grouped(calls)}</Figure>
      <Figure label={text.time} note={estimateSeconds === null ? text.noQuota : text.atQuota}>
        {estimateSeconds === null ? text.timeUnknown : duration(estimateSeconds)}
      </Figure>
    </dl>
  );
}

function refusedText({ verdicts }: PlanReport): string | undefined {
  const parts = [
    verdicts["not-allowed"] > 0 ? text.notAllowed(verdicts["not-allowed"]) : "",
    verdicts.conflict > 0 ? text.conflicts(verdicts.conflict) : "",
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
    (isStale ? text.stale : undefined) ??
    (problemsInAll > 0 && !form.partial ? text.hasProblems : undefined) ??
    (rows === problemsInAll ? text.noRow : undefined);
  const start = async (): Promise<string | undefined> => {
    if (!(await isMeant(plan))) return undefined;
    // A plan becomes one run, however often it is submitted.
    const query = { planId, ...(irreversible > 0 ? { confirm: irreversible } : {}) };
    const headers = { "idempotency-key": `dashboard-${planId}` };
    const run = await ask<RunReport>("/v1/runs", { method: "POST", query, headers });
    goTo(hrefOf("runs", run.runId));
    return runText.started(run.runId);
  };
  return (
    <div class="actions">
      <Button kind="main" refusal={off} isBusy={isBusy} onPress={() => act(start)}>
        {isBusy ? text.starting : text.start}
      </Button>
      {off !== undefined && <span class="hint">{off}</span>}
    </div>
  );
}

function isMeant(plan: PlanReport): Promise<boolean> {
  const { operation, calls, rows, problemsInAll, estimateSeconds, hasUndo, irreversible } = plan;
  const time = estimateSeconds === null || estimateSeconds === 0 ? undefined : duration(estimateSeconds);
  const what = text.startWhat(rows - problemsInAll, profile.value, time);
  return confirmed({
    title: text.startTitle(operation, calls),
    text: [what, ...cautionsOfPlan(plan), text.startAfter(hasUndo)].join(" "),
    yes: text.start,
    isDangerous: irreversible > 0,
    typed: irreversible > 0 ? irreversible : undefined,
  });
}
