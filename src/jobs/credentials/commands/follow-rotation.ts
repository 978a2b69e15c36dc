/** Shows a rotation until it ends or has to wait for hours: for its grace period or a person. */
import { type RotationReport, showRotation } from "../contract.ts";
import type { Caller } from "#cli/context.ts";
import { followWork } from "#cli/follow/follow-work.ts";
import type { Output } from "#cli/output.ts";
import { problemText } from "#cli/problem-text.ts";

interface Ask {
  readonly name: string;
  readonly profile: string;
  readonly output: Output;
  readonly interrupt: AbortSignal;
}

/** @returns the last report of the rotation, and the exit code */
export function followRotation(
  { client, app }: Pick<Caller, "client" | "app">,
  { name, profile, output, interrupt }: Ask,
): Promise<{ report: RotationReport; exitCode: number }> {
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
    line: ({ state, nextStep, problem }) => {
      if (nextStep === null) return undefined;
      const step = `${name}: ${nextStep}`;
      const text = problem === undefined ? step : `${step}: ${problemText(problem)}`;
      return { text, topic: `${state} ${problem?.attempts ?? 0}` };
    },
    leaving: () => `Nothing is lost. Resume with: simfleet credentials rotate ${name}`,
  });
}

function endOf({ state, waitsFor }: RotationReport): number | undefined {
  if (state === "done") return 0;
  if (state === "failed") return 1;
  if (waitsFor === "set-aside") return 1;
  return waitsFor === null || waitsFor === "fault" ? undefined : 0;
}
