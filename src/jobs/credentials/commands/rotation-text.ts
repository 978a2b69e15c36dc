/** Renders a rotation as text for a terminal. */
import type { RotationReport } from "../contract.ts";
import { problemText } from "#cli/problem-text.ts";

const actionNeeded = (action: string) => `Action needed: ${action}.`;

/** One line: the status of the rotation, and what it waits for. */
export function rotationStatusText(report: RotationReport): string {
  const { name, state, credentialsId, reason, nextStep, nextAt, handedTo, waitsFor, problem } = report;
  switch (state) {
    case "never":
      return `${name} has not been rotated yet.`;
    case "done":
      return `${name} was rotated: ${credentialsId ?? "the set"} has the new secret.${reason === null ? "" : ` ${reason}.`}`;
    case "failed": {
      const sinks = handedTo.length === 0 ? "" : ` These already have the new value: ${handedTo.join(", ")}.`;
      return `The rotation ${name} failed, and the old secret stays in use: ${reason ?? "unknown reason"}.${sinks}`;
    }
    default: {
      // The reason of a grace period repeats the state.
      const reasonText = reason === null || waitsFor === "grace" ? "" : `\n  ${reason}.`;
      const why = problem === undefined ? reasonText : `\n  ${problemText(problem)}`;
      return `The rotation ${name} is in progress. Next step: ${nextStep ?? ""}${nextAt === null ? "" : `, at ${nextAt}`}.${why}`;
    }
  }
}

/** Says what the rotation waits for. */
export function waitText({ name, waitsFor, nextAt, reason }: RotationReport): string {
  switch (waitsFor) {
    case "grace":
      return `The new secret is active. The old set will be deleted${nextAt === null ? "" : ` after ${nextAt}`} if unused.`;
    case "confirmation":
      return actionNeeded(reason ?? `simfleet credentials confirm ${name}`);
    case "set-aside":
      return actionNeeded(reason ?? "");
    case "reference":
      return `The rotation continues automatically when nothing blocks it: ${reason ?? ""}.`;
    default:
      return reason === null
        ? "It is in progress."
        : `The next attempt is${nextAt === null ? "" : ` at ${nextAt}`}: ${reason}.`;
  }
}
