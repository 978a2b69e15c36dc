/** A plan: its summary with the button that starts the run, and below it warnings, problems by line, and rows. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ask } from "../../ask.ts";
import { useAction } from "../../parts/action.tsx";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/form/button.tsx";
import { RowChanges } from "../../parts/changes.tsx";
import { Choices, Tick } from "../../parts/form/field.tsx";
import { Empty, Notice, Panel } from "../../parts/notice.tsx";
import { PageTable, usePages } from "../../parts/pages.tsx";
import type { Question } from "../../parts/form/question.tsx";
import { Said, SimLink } from "../../parts/ref.tsx";
import { Table } from "../../parts/table.tsx";
import { goTo } from "../../place.ts";
import { duration, grouped, counted } from "../../pure/format.ts";
import type { PlanForm } from "../../pure/runs/plan-options.ts";
import { cautionsOfPlan } from "../../pure/runs/operation.ts";
import { aheadText, changedText } from "../../pure/runs/tally.ts";
import { hrefOf } from "../../pure/route.ts";
import {
  type PlanReport,
  type PlanRow,
  type RowVerdict,
  type RunReport,
  verdicts as allVerdicts,
} from "../../pure/shapes.ts";
import { refusal } from "../../session.ts";

interface SummaryProps {
  readonly plan: PlanReport;
  readonly form: PlanForm;
  /** Something was changed after the plan was made. */
  readonly isStale: boolean;
  readonly isBusy: boolean;
  /** Plans again with another choice. */
  readonly choose: (change: Partial<PlanForm>) => void;
}

/** The part of a plan that stays in view: changes, calls, time, and skipped rows. */
export function PlanSummary({ plan, form, isStale, isBusy, choose }: SummaryProps): JSX.Element {
  const { verdicts, unchangedSkipped, problemsInAll } = plan;
  const { unchanged } = verdicts;
  return (
    <>
      <p class="sentence prose">{changedText(plan)}</p>
      <p class="quiet">
        {isBusy ? (
          "Planning …"
        ) : isStale ? (
          "The settings changed: update the plan first."
        ) : (
          <Said text={planText(plan)} />
        )}
      </p>
      {(unchanged > 0 || problemsInAll > 0) && (
        <div class="kinds">
          {unchanged > 0 && (
            <Tick
              label={`Skip ${grouped(unchanged)} unchanged, saves ${counted(unchanged, "call")}`}
              isOn={unchangedSkipped === unchanged}
              onChange={(skipUnchanged) => choose({ skipUnchanged })}
            />
          )}
          {problemsInAll > 0 && (
            <Tick
              label={`Skip ${counted(problemsInAll, "invalid row")}`}
              isOn={form.partial}
              onChange={(partial) => choose({ partial })}
            />
          )}
        </div>
      )}
    </>
  );
}

function planText(plan: PlanReport): string {
  const { rows, calls, verdicts, estimateSeconds, othersPerMinute } = plan;
  const unlisted = verdicts["not-in-inventory"];
  const time =
    estimateSeconds === null ? "time unknown: the quota is not known yet" : `about ${duration(estimateSeconds)}`;
  return [
    counted(rows, "row"),
    `${grouped(verdicts.change)} to change`,
    unlisted > 0 && `${grouped(unlisted)} not in the inventory`,
    verdicts.rejected > 0 && `${grouped(verdicts.rejected)} rejected`,
    verdicts.conflict > 0 && `${grouped(verdicts.conflict)} in conflict`,
    counted(calls, "call"),
    time,
    aheadText(plan),
    othersPerMinute > 0 && `leaves ${grouped(othersPerMinute)} calls a minute to others`,
  ]
    .filter((part) => part !== false && part !== undefined)
    .join(" · ");
}

export function PlanDetails({ plan }: { plan: PlanReport }): JSX.Element {
  const { warnings, problems, problemsInAll, file, where } = plan;
  return (
    <Panel title="Rows of the plan" hint={`${plan.operation} · ${file ?? where ?? ""}`}>
      <div class="form">
        <Cautions plan={plan} />
        {warnings.map((warning) => (
          <Notice key={warning} kind="warn">
            <span>
              <Said text={warning} />
            </span>
          </Notice>
        ))}
        {problems.length > 0 && (
          <section aria-label="Problems">
            <h3>{`${counted(problemsInAll, "row")} cannot be sent${problemsInAll > problems.length ? `; the first ${grouped(problems.length)}` : ""}`}</h3>
            <Table
              isDense
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
      </div>
    </Panel>
  );
}

/** Costs and irreversible effects of a start. */
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

export function StartButton({ plan, form }: Pick<SummaryProps, "plan" | "form">): JSX.Element {
  const { isBusy, act } = useAction();
  const { planId, rows, problemsInAll, irreversible } = plan;
  const off =
    refusal("operator") ??
    (problemsInAll > 0 && !form.partial ? "Fix the invalid rows, or skip them." : undefined) ??
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
    <>
      <Button kind="main" refusal={off} isBusy={isBusy} onPress={() => act(start, questionOf(plan))}>
        {isBusy ? "Starting …" : "Start the run"}
      </Button>
      {off !== undefined && <span class="hint">{off}</span>}
    </>
  );
}

function questionOf(plan: PlanReport): Question {
  const { operation, calls, estimateSeconds, hasUndo, irreversible } = plan;
  const time = estimateSeconds === null || estimateSeconds === 0 ? "" : `, about ${duration(estimateSeconds)}`;
  const sentences = [
    `${changedText(plan)}${time}.`,
    ...cautionsOfPlan(plan),
    `You can pause it${hasUndo ? " and undo it later" : ""}.`,
  ];
  return {
    title: `Start ${operation} with ${counted(calls, "call")}?`,
    text: sentences.join(" "),
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
    <>
      <div>
        <Choices<Shown> label="Filter rows by verdict" {...{ value: verdict, options }} onValue={setVerdict} />
      </div>
      <PageTable
        isDense
        pages={pages}
        more="More rows"
        label="Rows of the plan"
        keyOf={({ line }) => line}
        empty={<Empty>No row has this verdict.</Empty>}
        columns={[
          { label: "Line", kind: "number", cell: ({ line }) => grouped(line) },
          { label: "SIM", cell: ({ key }) => <SimLink sim={key} /> },
          { label: "Change", cell: (row) => <RowChanges {...row} /> },
          { label: "Verdict", kind: "tight", cell: (row) => <Badge state={row.verdict} /> },
          { label: "Problem", cell: ({ problem }) => problem?.message },
        ]}
      />
    </>
  );
}
