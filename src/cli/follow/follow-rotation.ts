/** Shows a rotation until it ends or has to wait for hours: for its grace period or a person. */
import type { App } from "#app/app.ts";
import { systemClock } from "#core/time.ts";
import type { RotationReport } from "#jobs/credentials/report.ts";
import { type FollowWork, followWork } from "./follow-work.ts";
import type { Output } from "../output.ts";
import { PlainLines } from "./plain-lines.ts";
import type { RemoteWorker } from "../remote-worker.ts";
import { problemText } from "../run-text.ts";

interface Ask {
  readonly output: Output;
  readonly name: string;
  readonly interrupt: AbortSignal;
}

const plainLineEveryMs = 10_000;

type Followed = Promise<{ report: RotationReport; exitCode: number }>;

/** @returns the last report of the rotation, and the exit code */
export function followRotation({ app, profile, ...ask }: Ask & { app: App; profile: string }): Followed {
  return followWork({
    ...wordsOf(ask),
    workplace: {
      isServed: () => app.credentials.isServed(profile),
      work: (onIncident) => app.consumeRotations(profile, onIncident),
    },
    report: () => app.credentials.report(ask.name),
  });
}

/** As `followRotation`, of a remote worker. */
export function followRemoteRotation({ worker, ...ask }: Ask & { worker: RemoteWorker }): Followed {
  const path = `/v1/rotations/${encodeURIComponent(ask.name)}`;
  return followWork({ ...wordsOf(ask), report: () => worker.get<RotationReport>(path) });
}

function wordsOf({ output, name, interrupt }: Ask): Omit<FollowWork<RotationReport>, "report"> {
  const lines = new PlainLines(output, plainLineEveryMs);
  return {
    ...{ output, interrupt, endOf },
    show: ({ state, nextStep, problem }) => {
      if (nextStep === null) return;
      const step = `${name}: ${nextStep}`;
      const line = problem === undefined ? step : `${step}: ${problemText(problem)}`;
      const topic = `${state} ${problem?.attempts ?? 0}`;
      if (output.isLive) output.live(line);
      else lines.show(line, { topic, nowMs: systemClock.monotonicMs() });
    },
    leaving: () => `Nothing is lost. Resume with: simfleet credentials rotate ${name}`,
  };
}

function endOf({ state, waitsFor }: RotationReport): number | undefined {
  if (state === "done") return 0;
  if (state === "failed") return 1;
  return waitsFor === null || waitsFor === "fault" ? undefined : 0;
}
