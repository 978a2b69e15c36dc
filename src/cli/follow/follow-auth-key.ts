/** Shows the rotation of an AuthKey until it ends: of this machine's Redis, or of a remote worker. */
import type { App } from "#app/app.ts";
import { systemClock } from "#core/time.ts";
import type { AuthKeyRotationReport } from "#jobs/authkeys/report.ts";
import { type FollowWork, followWork } from "./follow-work.ts";
import type { Output } from "../output.ts";
import { PlainLines } from "./plain-lines.ts";
import type { RemoteWorker } from "../remote-worker.ts";
import { problemText } from "../run-text.ts";

interface Ask {
  readonly output: Output;
  readonly profile: string;
  readonly interrupt: AbortSignal;
}

const plainLineEveryMs = 10_000;

type Followed = Promise<{ report: AuthKeyRotationReport; exitCode: number }>;

/** @returns the last report of the rotation, and the exit code */
export function followAuthKey({ app, ...ask }: Ask & { app: App }): Followed {
  const { profile } = ask;
  return followWork({
    ...wordsOf(ask),
    workplace: {
      isServed: () => app.authKeys.isServed(profile),
      work: (onIncident) => app.consumeAuthKeys(profile, onIncident),
    },
    report: async () => {
      const report = await app.authKeys.report(profile);
      if (report === undefined) throw new Error(`the AuthKey rotation of ${profile} no longer exists`);
      return report;
    },
  });
}

/** As `followAuthKey`, of a remote worker. */
export function followRemoteAuthKey({ worker, ...ask }: Ask & { worker: RemoteWorker }): Followed {
  const { profile } = ask;
  return followWork({
    ...wordsOf(ask),
    report: () => worker.get<AuthKeyRotationReport>("/v1/authkeys/rotation", { profile }),
  });
}

function wordsOf({ output, profile, interrupt }: Ask): Omit<FollowWork<AuthKeyRotationReport>, "report"> {
  const lines = new PlainLines(output, plainLineEveryMs);
  return {
    ...{ output, interrupt, endOf },
    show: ({ now, problem }) => {
      const line = `AuthKey of ${profile}: ${problem === undefined ? now : problemText(problem)}`;
      const topic = `${now} ${problem?.attempts ?? 0}`;
      if (output.isLive) output.live(line);
      else lines.show(line, { topic, nowMs: systemClock.monotonicMs() });
    },
    leaving: (_report, { wasLocal }) =>
      wasLocal
        ? "Nothing is lost, and no AuthKey in use is revoked. Resume with: simfleet authkeys rotate"
        : "The rotation continues in its worker. Follow it with: simfleet authkeys rotate",
  };
}

function endOf({ state }: AuthKeyRotationReport): number | undefined {
  return state === "done" ? 0 : state === "failed" ? 1 : undefined;
}
