/** Shows a rotation until it ends or has to wait for hours: for its grace period or a person. */
import { systemClock } from "#core/time.ts";
import { type RotationReport, showRotation } from "../contract.ts";
import type { Caller } from "#cli/context.ts";
import { followWork } from "#cli/follow/follow-work.ts";
import type { Output } from "#cli/output.ts";
import { PlainLines } from "#cli/follow/plain-lines.ts";
import { problemText } from "#cli/problem-text.ts";

interface Ask {
  readonly name: string;
  readonly profile: string;
  readonly output: Output;
  readonly interrupt: AbortSignal;
}

const plainLineEveryMs = 10_000;

/** @returns the last report of the rotation, and the exit code */
export function followRotation(
  { client, app }: Pick<Caller, "client" | "app">,
  { name, profile, output, interrupt }: Ask,
): Promise<{ report: RotationReport; exitCode: number }> {
  const lines = new PlainLines(output, plainLineEveryMs);
  return followWork<RotationReport>({
    output,
    interrupt,
    localWork:
      app === undefined
        ? undefined
        : {
            isServed: () => app.credentials.isServed(profile),
            work: (onIncident) => app.consumeRotations(profile, onIncident),
          },
    report: () => client.call(showRotation, { params: { name } }),
    endOf,
    show: ({ state, nextStep, problem }) => {
      if (nextStep === null) return;
      const step = `${name}: ${nextStep}`;
      const line = problem === undefined ? step : `${step}: ${problemText(problem)}`;
      const topic = `${state} ${problem?.attempts ?? 0}`;
      if (output.isLive) output.live(line);
      else lines.show(line, { topic, nowMs: systemClock.monotonicMs() });
    },
    leaving: () => `Nothing is lost. Resume with: simfleet credentials rotate ${name}`,
  });
}

function endOf({ state, waitsFor }: RotationReport): number | undefined {
  if (state === "done") return 0;
  if (state === "failed") return 1;
  return waitsFor === null || waitsFor === "fault" ? undefined : 0;
}
