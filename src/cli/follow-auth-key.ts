/** Shows the rotation of an AuthKey until it is over: of this machine's Redis, or of a worker elsewhere. */
import type { App } from "#app.ts";
import type { AuthKeyRotationReport } from "#runs/auth-key-report.ts";
import { type FollowWork, followWork } from "./follow-work.ts";
import type { Output } from "./output.ts";
import type { RemoteWorker } from "./remote-worker.ts";

interface Ask {
  readonly output: Output;
  readonly profile: string;
  readonly interrupt: AbortSignal;
}

type Followed = Promise<{ report: AuthKeyRotationReport; exitCode: number }>;

/** @returns the rotation as it stood at the end, and the exit code that tells of it */
export function followAuthKey({ app, ...ask }: Ask & { app: App }): Followed {
  const { profile } = ask;
  return followWork({
    ...wordsOf(ask),
    workplace: {
      isServed: () => app.authKeys.isServed(profile),
      work: (onTrouble) => app.consumeAuthKeys(profile, onTrouble),
    },
    report: async () => {
      const report = await app.authKeys.report(profile);
      if (report === undefined) throw new Error(`the AuthKey rotation of ${profile} vanished`);
      return report;
    },
  });
}

/** As `followAuthKey`, of a worker elsewhere. */
export function followAuthKeyElsewhere({ worker, ...ask }: Ask & { worker: RemoteWorker }): Followed {
  const { profile } = ask;
  return followWork({
    ...wordsOf(ask),
    report: () => worker.get<AuthKeyRotationReport>("/v1/authkeys/rotation", { profile }),
  });
}

function wordsOf({ output, profile, interrupt }: Ask): Omit<FollowWork<AuthKeyRotationReport>, "report"> {
  let shown: string | null = null;
  return {
    ...{ output, interrupt, endOf },
    show: ({ now }) => {
      if (now === shown) return;
      shown = now;
      if (output.isLive) output.live(`AuthKey of ${profile}: ${now}`);
      else output.say(`AuthKey of ${profile}: ${now}`);
    },
    leaving: (_report, { wasOurs }) =>
      wasOurs
        ? "Nothing is lost, and no AuthKey in use is revoked. Go on with: simfleet authkeys rotate"
        : "The rotation goes on in its worker. Look on with: simfleet authkeys rotate",
  };
}

function endOf({ state }: AuthKeyRotationReport): number | undefined {
  return state === "done" ? 0 : state === "failed" ? 1 : undefined;
}
