/** Follows the rotation of an AuthKey until it ends. */
import { type AuthKeyRotationReport, showAuthKeyRotation } from "../contract.ts";
import type { Caller } from "#cli/context.ts";
import { followWork } from "#cli/follow/follow-work.ts";
import { systemClock } from "#core/time.ts";
import type { Output } from "#cli/output.ts";
import { problemText } from "#cli/problem-text.ts";

interface Ask {
  readonly profile: string;
  readonly output: Output;
  readonly interrupt: AbortSignal;
  /** Until the old AuthKey is revoked, which can take a day; else until only that is left. */
  readonly untilRevoked: boolean;
}

/** @returns the last report of the rotation, and the exit code */
export function followAuthKey(
  { client, app }: Pick<Caller, "client" | "app">,
  { profile, output, interrupt, untilRevoked }: Ask,
): Promise<{ report: AuthKeyRotationReport; exitCode: number }> {
  return followWork<AuthKeyRotationReport>({
    output,
    interrupt,
    localWork:
      app === undefined
        ? undefined
        : {
            isServed: () => app.authKeys.isServed(profile),
            work: (onIncident) => app.consumeAuthKeys(profile, onIncident),
          },
    report: () => client.call(showAuthKeyRotation, { query: { profile } }),
    endOf: (report) => endOf(report, untilRevoked),
    line: ({ now, problem }) => ({
      text: `AuthKey of ${profile}: ${problem === undefined ? now : problemText(problem)}`,
      topic: `${now} ${problem?.attempts ?? 0}`,
    }),
    leaving: (_report, { wasLocal }) =>
      wasLocal
        ? "Nothing is lost, and no AuthKey in use is revoked. Resume with: simfleet authkeys rotate"
        : "The rotation continues in its worker. Follow it with: simfleet authkeys rotate",
  });
}

/** A command waits this long for a revocation without being asked to. */
const shortWaitMs = 60_000;

function endOf({ state, problem, revokesAt }: AuthKeyRotationReport, untilRevoked: boolean): number | undefined {
  // It was set aside.
  if (problem?.nextAttemptAt === null) return 1;
  if (state === "done") return 0;
  if (state === "failed") return 1;
  const isLong = revokesAt !== null && Date.parse(revokesAt) - systemClock.wallMs() > shortWaitMs;
  return isLong && !untilRevoked ? 0 : undefined;
}
