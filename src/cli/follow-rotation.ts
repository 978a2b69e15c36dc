/**
 * Shows a rotation until it is over or waits for what takes hours: its grace, or a person. It is worked on in this process
 * while no live worker does.
 */
import type { App, Working } from "#app.ts";
import type { PlatformError } from "#core/errors.ts";
import { systemClock } from "#core/time.ts";
import type { RotationReport } from "#runs/rotation-report.ts";
import type { Output } from "./output.ts";

const lookEveryMs = 150;
const lookForWorkersMs = 2_000;

interface Ask {
  readonly app: App;
  readonly output: Output;
  readonly name: string;
  readonly profile: string;
  readonly interrupt: AbortSignal;
}

/** @returns the rotation as it stood at the end, and the exit code that tells of it */
export async function followRotation(ask: Ask): Promise<{ report: RotationReport; exitCode: number }> {
  const follower = new RotationFollower(ask);
  try {
    return await follower.run();
  } finally {
    await follower.stopWorking();
    ask.output.clearLiveLine();
  }
}

class RotationFollower {
  readonly #ask: Ask;
  #working: Working | undefined;
  #refusal: PlatformError | undefined;
  #lastTrouble = "";
  #lastState = "";
  #nextLookForWorkersMs = 0;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  async run(): Promise<{ report: RotationReport; exitCode: number }> {
    const { app, output, name, interrupt } = this.#ask;
    for (;;) {
      const report = await app.credentials.report(name);
      this.#show(report);
      if (report.state === "done") return { report, exitCode: 0 };
      if (report.state === "failed") return { report, exitCode: 1 };
      if (report.waitsFor !== null && report.waitsFor !== "fault") return { report, exitCode: 0 };
      if (this.#refusal !== undefined) {
        output.say(`The platform refuses us: ${this.#refusal.message}`);
        return { report, exitCode: this.#refusal.exitCode };
      }
      if (interrupt.aborted) {
        output.say(`Nothing is lost. Go on with: simfleet credentials rotate ${name}`);
        return { report, exitCode: 1 };
      }
      await this.#seeToWorkers();
      await systemClock.sleep(lookEveryMs, interrupt).catch(() => undefined);
    }
  }

  #show({ name, state, nextStep }: RotationReport): void {
    const { output } = this.#ask;
    if (state === this.#lastState || nextStep === null) return;
    this.#lastState = state;
    if (output.isLive) output.live(`${name}: ${nextStep}`);
    else output.say(`${name}: ${nextStep}`);
  }

  async #seeToWorkers(): Promise<void> {
    const { app, output, profile } = this.#ask;
    const nowMs = systemClock.monotonicMs();
    if (this.#working !== undefined || nowMs < this.#nextLookForWorkersMs) return;
    this.#nextLookForWorkersMs = nowMs + lookForWorkersMs;
    if (await app.credentials.isServed(profile)) return;
    this.#working = await app.consumeRotations(profile, ({ message, refusal }) => {
      if (refusal !== undefined) this.#refusal = refusal;
      if (message !== this.#lastTrouble) output.say(`simfleet: ${message}`);
      this.#lastTrouble = message;
    });
  }

  async stopWorking(): Promise<void> {
    await this.#working?.stop();
    this.#working = undefined;
  }
}
