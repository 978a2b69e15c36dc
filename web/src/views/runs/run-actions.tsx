/** The actions of a run; those that change many SIMs or cannot be undone ask for confirmation. */
import type { JSX } from "preact";
import { ask, download } from "../../ask.ts";
import { Button, useAction } from "../../parts/button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { confirmed } from "../../parts/question.tsx";
import { goTo } from "../../place.ts";
import { hrefOf } from "../../pure/route.ts";
import type { FollowUpPlan, OperationReport, RunReport } from "../../pure/shapes.ts";
import { type RunAction, actionsFor } from "../../pure/runs/tally.ts";
import { refusal } from "../../session.ts";
import { runActionsText as text, runText } from "../../strings/run.ts";

const kinds: Partial<Record<RunAction, "main" | "danger">> = {
  approve: "main",
  resume: "main",
  cancel: "danger",
  undo: "danger",
};

interface ActionsProps {
  readonly report: RunReport;
  /** Of the run; undefined while it is not known. */
  readonly operation: OperationReport | undefined;
  readonly hasUndo: boolean;
  readonly onChanged: (report: RunReport) => void;
}

export function RunActions({ report, operation, hasUndo, onChanged }: ActionsProps): JSX.Element {
  const { isBusy, act } = useAction();
  const { runId } = report;
  const route = `/v1/runs/${encodeURIComponent(runId)}`;
  const work = async (action: RunAction): Promise<string | undefined> => {
    const isFollowUp = action === "retry" || action === "undo";
    const plan = isFollowUp ? await ask<FollowUpPlan>(`${route}/${action}/plan`) : undefined;
    if (!(await isMeant({ action, report, operation, plan }))) return undefined;
    const confirm = plan?.irreversible ?? 0;
    const answer = await ask<RunReport>(`${route}/${action}`, {
      method: "POST",
      ...(confirm > 0 ? { body: { confirm } } : {}),
    });
    if (answer.runId === runId) {
      onChanged(answer);
      return text.stateNow(answer.name || runId, answer.state.replaceAll("-", " "));
    }
    goTo(hrefOf("runs", answer.runId));
    return runText.started(answer.runId);
  };
  return (
    <>
      <Button
        onPress={() =>
          act(async () => {
            await download(`${route}/results`, { format: "csv" }, `${runId}.results.csv`);
            return undefined;
          })
        }
      >
        <Icon name="down" size={16} />
        {text.results}
      </Button>
      {actionsFor({ ...report, hasUndo }).map((action) => (
        <Button
          key={action}
          kind={kinds[action]}
          isBusy={isBusy}
          refusal={refusal("operator")}
          onPress={() => act(() => work(action))}
        >
          {text.verbs[action]}
        </Button>
      ))}
    </>
  );
}

/** @param plan of a retry or an undo */
function isMeant({
  action,
  report: { runId, name, profile, counts },
  operation,
  plan = { operation: "", total: 0, calls: 0, costly: 0, irreversible: 0 },
}: {
  action: RunAction;
  report: RunReport;
  operation: OperationReport | undefined;
  plan: FollowUpPlan | undefined;
}): Promise<boolean> | true {
  const run = name === "" ? runId : `${name} (${runId})`;
  const costs = plan.costly === 0 ? "" : text.costs(plan.costly);
  switch (action) {
    case "cancel":
      return confirmed({
        title: text.cancel(run),
        text: text.cancelWhat(counts.pending),
        yes: text.cancelYes(counts.pending),
        isDangerous: true,
      });
    case "undo":
      return confirmed({
        title: text.undo(run),
        text: text.undoWhat(plan.calls, profile) + costs,
        yes: text.undoYes(plan.calls),
        isDangerous: true,
        ...typed(plan.irreversible),
      });
    case "retry":
      return confirmed({
        title: text.retry(run),
        text: text.retryWhat(plan.total, plan.calls) + costs + leftOutText(counts),
        yes: runText.retryYes(plan.total),
        ...typed(plan.irreversible),
      });
    case "approve":
      return confirmed({
        title: text.approve(run),
        text: text.approveWhat(counts.pending, profile),
        yes: text.approveYes,
        ...typed(operation?.danger === "irreversible" ? counts.pending : 0),
      });
    case "pause":
    case "resume":
      return true;
  }
}

/** The question for calls that cannot be undone wants their number. */
function typed(calls: number): { isDangerous?: boolean; typed?: number } {
  return calls > 0 ? { isDangerous: true, typed: calls } : {};
}

/** The rows that a retry leaves out, and why. */
function leftOutText({ rejected, unknown }: RunReport["counts"]): string {
  return (rejected > 0 ? text.rejectedLeftOut(rejected) : "") + (unknown > 0 ? text.unknownLeftOut(unknown) : "");
}
