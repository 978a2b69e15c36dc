/** Follows the rotation of an AuthKey until it ends. */
import { type AuthKeyRotationReport, showAuthKeyRotation } from "../contract.ts";
import type { Caller } from "#cli/context.ts";
import { followWork } from "#cli/follow/follow-work.ts";
import type { Output } from "#cli/output.ts";
import { problemText } from "#cli/problem-text.ts";

interface Ask {
  readonly profile: string;
  readonly output: Output;
  readonly interrupt: AbortSignal;
}

/** @returns the last report of the rotation, and the exit code */
export function followAuthKey(
  { client, app }: Pick<Caller, "client" | "app">,
  { profile, output, interrupt }: Ask,
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
    endOf,
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

function endOf({ state, problem }: AuthKeyRotationReport): number | undefined {
  // It was set aside.
  if (problem?.nextAttemptAt === null) return 1;
  return state === "done" ? 0 : state === "failed" ? 1 : undefined;
}
