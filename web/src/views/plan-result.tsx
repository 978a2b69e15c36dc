/**
 * The result of a plan: verdicts, calls, duration, warnings, problems by line, rows; and the button that starts the
 * run.
 */
import type { JSX } from "preact";
import { ask } from "../ask.ts";
import { Figure } from "../parts/bars.tsx";
import { Button, useAction } from "../parts/button.tsx";
import { Notice } from "../parts/notice.tsx";
import { confirmed } from "../parts/question.tsx";
import { Table } from "../parts/table.tsx";
import { goTo } from "../place.ts";
import { counted, duration, grouped } from "../pure/format.ts";
import type { PlanForm } from "../pure/plan-options.ts";
import { hrefOf } from "../pure/route.ts";
import type { PlanReport, RunReport } from "../pure/shapes.ts";
import { profile, refusal } from "../session.ts";
import { PlanRows } from "./plan-rows.tsx";

interface ResultProps {
  readonly plan: PlanReport;
  readonly form: PlanForm;
  /** Something was changed after the plan was made. */
  readonly isStale: boolean;
}

export function PlanResult({ plan, form, isStale }: ResultProps): JSX.Element {
  const { rows, verdicts, calls, estimateSeconds, warnings, problems, problemsInAll } = plan;
  return (
    <div class="form">
      <dl class="figures">
        <Figure name="Rows">{grouped(rows)}</Figure>
        <Figure
          name="To change"
          note={verdicts.unknown > 0 ? `and ${grouped(verdicts.unknown)} not in the inventory` : undefined}
        >
          {grouped(verdicts.change)}
        </Figure>
        <Figure name="Unchanged" note={form.skipUnchanged ? "skipped, no call" : "will be sent anyway"}>
          {grouped(verdicts.unchanged)}
        </Figure>
        <Figure
          name="Cannot be sent"
          note={verdicts.conflict > 0 ? `${grouped(verdicts.conflict)} in conflict` : undefined}
        >
          {grouped(problemsInAll)}
        </Figure>
        <Figure name="Calls">{grouped(calls)}</Figure>
        <Figure name="Time" note={estimateSeconds === null ? "quota not known yet" : "at the current quota"}>
          {estimateSeconds === null ? "unknown" : duration(estimateSeconds)}
        </Figure>
      </dl>
      {warnings.map((warning) => (
        <Notice key={warning} kind="warn">
          {warning}
        </Notice>
      ))}
      {problems.length > 0 && (
        <section aria-label="Problems">
          <h3>{problemsTitle(plan)}</h3>
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

function problemsTitle({ problems, problemsInAll }: PlanReport): string {
  const all = `${counted(problemsInAll, "row")} cannot be sent`;
  return problemsInAll > problems.length ? `${all}; the first ${grouped(problems.length)}` : all;
}

function Start({ plan, form, isStale }: ResultProps): JSX.Element {
  const { isBusy, act } = useAction();
  const { planId, calls, rows, problemsInAll, estimateSeconds } = plan;
  const off =
    refusal("operator") ??
    (isStale ? "The settings changed: update the plan first." : undefined) ??
    (problemsInAll > 0 && !form.partial ? 'Fix the file, or select "Skip invalid rows".' : undefined) ??
    (rows === problemsInAll ? "No row can be sent." : undefined);
  const start = async (): Promise<string | undefined> => {
    const isMeant = await confirmed({
      title: `Start with ${counted(calls, "call")}?`,
      text: `${counted(rows - problemsInAll, "row")} of the profile ${profile.value}${estimateSeconds === null ? "" : `, about ${duration(estimateSeconds)}`}. You can pause it, and undo it afterwards.`,
      yes: "Start the run",
    });
    if (!isMeant) return undefined;
    // A plan becomes one run, however often it is submitted.
    const headers = { "idempotency-key": `dashboard-${planId}` };
    const run = await ask<RunReport>("/v1/runs", { method: "POST", query: { planId }, headers });
    goTo(hrefOf("runs", run.runId));
    return `Run ${run.runId} started.`;
  };
  return (
    <div class="actions">
      <Button kind="main" refusal={off} isBusy={isBusy} onPress={() => act(start)}>
        {isBusy ? "Starting …" : "Start the run"}
      </Button>
      {off !== undefined && <span class="hint">{off}</span>}
    </div>
  );
}
