/** The actions of a run; those that change many SIMs or cannot be undone ask for confirmation. */
import type { JSX } from "preact";
import { ask, download } from "../ask.ts";
import { Button, useAction } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { confirmed } from "../parts/question.tsx";
import { goTo } from "../place.ts";
import { counted } from "../pure/format.ts";
import { hrefOf } from "../pure/route.ts";
import type { RunReport } from "../pure/shapes.ts";
import { type RunAction, actionsFor, retriedRows } from "../pure/tally.ts";
import { refusal } from "../session.ts";

const verbs: Readonly<Record<RunAction, string>> = {
  approve: "Approve",
  pause: "Pause",
  resume: "Resume",
  cancel: "Cancel",
  retry: "Retry the rest",
  undo: "Undo",
};

const kinds: Partial<Record<RunAction, "main" | "danger">> = {
  approve: "main",
  resume: "main",
  cancel: "danger",
  undo: "danger",
};

export function RunActions({
  report,
  onChanged,
}: {
  report: RunReport;
  onChanged: (report: RunReport) => void;
}): JSX.Element {
  const { isBusy, act } = useAction();
  const { runId } = report;
  const route = `/v1/runs/${encodeURIComponent(runId)}`;
  const work = async (action: RunAction): Promise<string | undefined> => {
    if (!(await isMeant(action, report))) return undefined;
    const answer = await ask<RunReport>(`${route}/${action}`, { method: "POST" });
    if (answer.runId === runId) {
      onChanged(answer);
      return `${answer.name || runId} is ${answer.state.replaceAll("-", " ")}.`;
    }
    goTo(hrefOf("runs", answer.runId));
    return `Run ${answer.runId} started.`;
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
        Results
      </Button>
      {actionsFor(report).map((action) => (
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

function isMeant(action: RunAction, { runId, name, profile, counts }: RunReport): Promise<boolean> | true {
  const run = name === "" ? runId : `${name} (${runId})`;
  switch (action) {
    case "cancel":
      return confirmed({
        title: `Cancel ${run}?`,
        text: `${counted(counts.pending, "row")} will not be sent. Completed rows stay changed. You can retry the rest later.`,
        yes: `Cancel the other ${counted(counts.pending, "row")}`,
        isDangerous: true,
      });
    case "undo":
      return confirmed({
        title: `Undo ${run}?`,
        text: `A new run restores the previous class of up to ${counted(counts.done, "SIM")} of the profile ${profile}, except where it was changed since.`,
        yes: `Restore ${counted(counts.done, "SIM")}`,
        isDangerous: true,
      });
    case "retry": {
      const rows = counted(retriedRows(counts), "row");
      const left = counts.rejected === 0 ? "" : ` ${rejectedText(counts.rejected)}`;
      return confirmed({
        title: `Retry ${run}?`,
        text: `A new run sends the failed and cancelled rows again: ${rows}.${left}`,
        yes: `Retry ${rows}`,
      });
    }
    case "approve":
      return confirmed({
        title: `Approve ${run}?`,
        text: `It changes up to ${counted(counts.pending, "SIM")} of the profile ${profile}, and starts immediately.`,
        yes: "Approve and start",
      });
    case "pause":
    case "resume":
      return true;
  }
}

function rejectedText(rows: number): string {
  const what = rows === 1 ? "The rejected row is" : `The ${counted(rows, "rejected row")} are`;
  return `${what} left out, and would be rejected again. Fix the file and start a new run with it.`;
}
