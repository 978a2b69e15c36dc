/** The actions of a run; those that change many SIMs or cannot be undone ask for confirmation. */
import type { JSX } from "preact";
import { ask, download } from "../../ask.ts";
import { ActionButton, useAction } from "../../parts/action.tsx";
import { Button } from "../../parts/button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { confirmed } from "../../parts/question.tsx";
import { goTo } from "../../place.ts";
import { hrefOf } from "../../pure/route.ts";
import type { FollowUpPlan, OperationReport, RunReport } from "../../pure/shapes.ts";
import { type RunAction, actionsFor } from "../../pure/runs/tally.ts";
import { refusal } from "../../session.ts";
import { counted } from "../../pure/format.ts";

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
      return `${answer.name || runId} is ${answer.state.replaceAll("-", " ")}.`;
    }
    goTo(hrefOf("runs", answer.runId));
    return `Run ${answer.runId} started.`;
  };
  return (
    <>
      <ActionButton
        needs="viewer"
        work={async () => {
          await download(`${route}/results`, { format: "csv" }, `${runId}.results.csv`);
          return undefined;
        }}
      >
        <Icon name="down" size={16} />
        Results
      </ActionButton>
      {actionsFor({ ...report, hasUndo }).map((action) => (
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

/** @param plan of a retry or an undo */
function isMeant({
  action,
  report: { runId, name, profile, counts },
  operation,
  plan = {
    profile,
    operation: "",
    changes: [],
    changesInAll: 0,
    total: 0,
    calls: 0,
    costly: 0,
    irreversible: 0,
    warnings: [],
  },
}: {
  action: RunAction;
  report: RunReport;
  operation: OperationReport | undefined;
  plan: FollowUpPlan | undefined;
}): Promise<boolean> | true {
  const run = name === "" ? runId : `${name} (${runId})`;
  const costs =
    (plan.costly === 0
      ? ""
      : ` According to the inventory, ${counted(plan.costly, "call costs", "calls cost")} money.`) + warningsText(plan);
  switch (action) {
    case "cancel":
      return confirmed({
        title: `Cancel ${run}?`,
        text: `${counted(counts.pending, "row")} will not be sent. Completed rows stay changed. You can retry the cancelled rows later.`,
        yes: `Cancel ${counted(counts.pending, "row")}`,
        isDangerous: true,
      });
    case "undo":
      return confirmed({
        title: `Undo ${run}?`,
        text:
          `A new run restores the previous values of up to ${counted(plan.calls, "SIM")} of the profile ${profile}. SIMs that were changed again since are left as they are.` +
          costs,
        yes: `Restore ${counted(plan.calls, "SIM")}`,
        isDangerous: true,
        ...typed(plan.irreversible),
      });
    case "retry":
      return confirmed({
        title: `Retry ${run}?`,
        text:
          `A new run sends the failed and cancelled rows again: ${counted(plan.total, "row")}, in ${counted(plan.calls, "call")}.` +
          costs +
          leftOutText(counts),
        yes: `Retry ${counted(plan.total, "row")}`,
        ...typed(plan.irreversible),
      });
    case "approve":
      return confirmed({
        title: `Approve ${run}?`,
        text: `It changes up to ${counted(counts.pending, "SIM")} of the profile ${profile}, and starts immediately.`,
        yes: "Approve and start",
        ...typed(operation?.danger === "irreversible" ? counts.pending : 0),
      });
    case "pause":
    case "resume":
      return true;
  }
}

/** What a retry or an undo supersedes. */
export function warningsText({ warnings }: FollowUpPlan): string {
  return warnings.map((warning) => ` ${warning}.`).join("");
}

/** The question for calls that cannot be undone wants their number. */
function typed(calls: number): { isDangerous?: boolean; typed?: number } {
  return calls > 0 ? { isDangerous: true, typed: calls } : {};
}

/** The rows that a retry leaves out, and why. */
function leftOutText({ rejected, unknown }: RunReport["counts"]): string {
  return [
    rejected > 0 && `${leftOut(rejected, "rejected")}, and would be rejected again. Fix the file and start a new run.`,
    unknown > 0 && `${leftOut(unknown, "unknown")}: the calls may have taken effect. Check these SIMs first.`,
  ]
    .filter((sentence) => sentence !== false)
    .join("");
}

function leftOut(rows: number, outcome: string): string {
  return rows === 1 ? ` The ${outcome} row is left out` : ` The ${counted(rows, `${outcome} row`)} are left out`;
}
