/** The actions of a run; those that change many SIMs or cannot be undone ask for confirmation. */
import type { JSX } from "preact";
import { ask, download } from "../../ask.ts";
import { ActionButton, useAction } from "../../parts/action.tsx";
import { Button } from "../../parts/form/button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { type Question, confirmed } from "../../parts/form/question.tsx";
import { goTo } from "../../place.ts";
import { counted } from "../../pure/format.ts";
import { hrefOf } from "../../pure/route.ts";
import type { OperationReport, Outcome, PlanReport, RunReport } from "../../pure/shapes.ts";
import { type RunAction, actionsFor, changedText } from "../../pure/runs/tally.ts";
import { refusal } from "../../session.ts";

const verbs = {
  approve: "Approve",
  pause: "Pause",
  resume: "Resume",
  cancel: "Cancel",
  retry: "Retry",
  undo: "Undo",
} satisfies Record<RunAction, string>;

const kinds: Partial<Record<RunAction, "main" | "danger">> = {
  approve: "main",
  resume: "main",
  cancel: "danger",
  undo: "danger",
};

interface ActionsProps {
  readonly report: RunReport;
  /** Operation of the run. Undefined while it is unknown. */
  readonly operation: OperationReport | undefined;
  readonly hasUndo: boolean;
  readonly onChanged: (report: RunReport) => void;
}

export function RunActions({ report, operation, hasUndo, onChanged }: ActionsProps): JSX.Element {
  const { isBusy, act } = useAction();
  const { runId, state, counts } = report;
  const route = routeOf(report);
  const actions = actionsFor({ state, counts, hasUndo });
  const work = async (action: RunAction): Promise<string | undefined> => {
    if (action === "retry" || action === "undo") return followUp(report, action);
    const question = questionOf(action, report, operation);
    if (question !== undefined && !(await confirmed(question))) return undefined;
    const answer = await ask<RunReport>(`${route}/${action}`, { method: "POST" });
    onChanged(answer);
    return `${answer.name || runId} is ${answer.state.replaceAll("-", " ")}.`;
  };
  return (
    <>
      <DownloadButton report={report}>Results</DownloadButton>
      {actions.map((action) => (
        <Button
          key={action}
          kind={kinds[action]}
          isBusy={isBusy}
          refusal={refusal("operator")}
          onPress={() => act(() => work(action))}
        >
          {verbs[action]}
        </Button>
      ))}
    </>
  );
}

function routeOf({ runId }: RunReport): string {
  return `/v1/runs/${encodeURIComponent(runId)}`;
}

interface DownloadProps {
  readonly report: RunReport;
  /** Only the rows with these outcomes. */
  readonly outcomes?: readonly Outcome[];
  readonly children: string;
}

export function DownloadButton({ report, outcomes = [], children }: DownloadProps): JSX.Element {
  const name = [report.runId, ...outcomes, "results", "csv"].join(".");
  const save = async (): Promise<undefined> => {
    await download(`${routeOf(report)}/results`, { format: "csv", outcome: outcomes }, name);
  };
  return (
    <ActionButton needs="viewer" work={save}>
      <Icon name="down" size={16} />
      {children}
    </ActionButton>
  );
}

/** The rows of a retry. */
interface Chosen {
  readonly outcomes: readonly Outcome[];
  readonly lines?: readonly number[];
  readonly reason?: string;
}

/**
 * Asks whether a retry or an undo is meant, with what it changes, and starts it.
 * @param chosen rows of a retry; by default those that failed or were cancelled
 * @returns what to say; undefined if it was not meant
 */
export async function followUp(
  report: RunReport,
  action: "retry" | "undo",
  chosen?: Chosen,
): Promise<string | undefined> {
  const { name, runId, counts } = report;
  const isUndo = action === "undo";
  const rows = isUndo ? { undoOf: runId } : { retryOf: runId, ...chosen };
  const plan = await ask<PlanReport>("/v1/plans", { method: "POST", body: rows });
  const { planId, rows: total, calls, costly, irreversible, warnings } = plan;
  const sentences = [
    `${changedText(plan)}.`,
    isUndo
      ? "SIMs that were changed again since are left as they are."
      : `A new run sends ${counted(total, "row")} again, in ${counted(calls, "call")}.`,
    costly > 0 && `According to the inventory, ${counted(costly, "call costs", "calls cost")} money.`,
    ...(calls > 0 ? warnings.map((warning) => `${warning}.`) : []),
    ...(isUndo || chosen !== undefined ? [] : leftOut(counts)),
  ];
  const isMeant = await confirmed({
    title: `${verbs[action]} ${name === "" ? runId : name}?`,
    text: sentences.filter((sentence) => sentence !== false).join(" "),
    yes: isUndo ? `Restore ${counted(calls, "SIM")}` : `Retry ${counted(total, "row")}`,
    isDangerous: isUndo || irreversible > 0,
    refusal: calls > 0 ? undefined : (warnings[0] ?? "There is nothing to do."),
    typed: irreversible > 0 ? irreversible : undefined,
  });
  let started: RunReport | undefined;
  try {
    const query = { planId, ...(irreversible > 0 ? { confirm: irreversible } : {}) };
    if (isMeant) started = await ask<RunReport>("/v1/runs", { method: "POST", query });
  } finally {
    // It may have expired, too.
    if (!started) await ask(`/v1/plans/${encodeURIComponent(planId)}`, { method: "DELETE" }).catch(() => undefined);
  }
  if (started === undefined) return undefined;
  goTo(hrefOf("runs", started.runId));
  return `Run ${started.runId} started.`;
}

/** The rows that a retry leaves out, and why. */
function leftOut({ rejected, unknown }: RunReport["counts"]): readonly (string | false)[] {
  return [
    rejected > 0 &&
      `${counted(rejected, "rejected row is", "rejected rows are")} left out: fix the file and start a new run.`,
    unknown > 0 &&
      `${counted(unknown, "unknown row is", "unknown rows are")} left out: the calls may have taken effect. Check these SIMs first.`,
  ];
}

/** Question before an action. Undefined if it can be undone. */
function questionOf(
  action: RunAction,
  report: RunReport,
  operation: OperationReport | undefined,
): Question | undefined {
  const { runId, name, counts } = report;
  const run = name === "" ? runId : name;
  if (action === "cancel") {
    return {
      title: `Cancel ${run}?`,
      text: `${counted(counts.pending, "row")} will not be sent. Completed rows stay changed. You can retry the cancelled rows later.`,
      yes: `Cancel ${counted(counts.pending, "row")}`,
      isDangerous: true,
    };
  }
  if (action !== "approve") return undefined;
  const isIrreversible = operation?.danger === "irreversible";
  return {
    title: `Approve ${run}?`,
    text: `${changedText(report)}. It starts immediately.`,
    yes: "Approve and start",
    ...(isIrreversible ? { isDangerous: true, typed: counts.pending } : {}),
  };
}
