/** Renders a rotation as text for a terminal. */
import type { RotationReport } from "../contract.ts";
import { problemText } from "#cli/problem-text.ts";
import { rotationStrings } from "../strings.ts";

/** One line: the status of the rotation, and what it waits for. */
export function rotationStatusText(report: RotationReport): string {
  const { name, state, credentialsId, reason, nextStep, nextAt, handedTo, waitsFor, problem } = report;
  switch (state) {
    case "never":
      return rotationStrings.never(name);
    case "done":
      return `${rotationStrings.done(name, credentialsId ?? rotationStrings.theSet)}${reason === null ? "" : ` ${reason}.`}`;
    case "failed": {
      const sinks = handedTo.length === 0 ? "" : rotationStrings.delivered(handedTo);
      return `${rotationStrings.failed(name, reason ?? rotationStrings.unknownReason)}${sinks}`;
    }
    default: {
      // The reason of a grace period repeats the state.
      const reasonText = reason === null || waitsFor === "grace" ? "" : `\n  ${reason}.`;
      const why = problem === undefined ? reasonText : `\n  ${problemText(problem)}`;
      return `${rotationStrings.inProgress(name, nextStep ?? "", nextAt)}${why}`;
    }
  }
}

/** Says what the rotation waits for. */
export function waitText({ name, waitsFor, nextAt, reason }: RotationReport): string {
  switch (waitsFor) {
    case "grace":
      return rotationStrings.inGrace(nextAt);
    case "confirmation":
      return rotationStrings.actionNeeded(reason ?? `simfleet credentials confirm ${name}`);
    case "set-aside":
      return rotationStrings.actionNeeded(reason ?? "");
    case "reference":
      return rotationStrings.blocked(reason ?? "");
    default:
      return reason === null ? rotationStrings.working : rotationStrings.nextAttempt(nextAt, reason);
  }
}
