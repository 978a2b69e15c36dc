/** Shows the rotation of an AuthKey until it is over, and works on it in this process while no live worker does. */
import type { App, Working } from "#app.ts";
import type { PlatformError } from "#core/errors.ts";
import { systemClock } from "#core/time.ts";
import type { AuthKeyRotationReport } from "#runs/auth-key-report.ts";
import type { Output } from "./output.ts";

const lookEveryMs = 200;
const lookForWorkersMs = 2_000;

interface Ask {
  readonly app: App;
  readonly output: Output;
  readonly profile: string;
  readonly interrupt: AbortSignal;
}

/** @returns the rotation as it stood at the end, and the exit code that tells of it */
export async function followAuthKey(ask: Ask): Promise<{ report: AuthKeyRotationReport; exitCode: number }> {
  const follower = new AuthKeyFollower(ask);
  try {
    return await follower.run();
  } finally {
    await follower.stopWorking();
    ask.output.clearLiveLine();
  }
}

class AuthKeyFollower {
  readonly #ask: Ask;
  #working: Working | undefined;
  #refusal: PlatformError | undefined;
  #said = "";
  #nextLookForWorkersMs = 0;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  async run(): Promise<{ report: AuthKeyRotationReport; exitCode: number }> {
    const { app, output, profile, interrupt } = this.#ask;
    for (;;) {
      const report = await app.authKeys.report(profile);
      if (report === undefined) throw new Error(`the AuthKey rotation of ${profile} vanished`);
      if (report.state === "done") return { report, exitCode: 0 };
      if (report.state === "failed") return { report, exitCode: 1 };
      this.#show(report.now ?? "");
      if (this.#refusal !== undefined) {
        output.say(`The platform refuses us: ${this.#refusal.message}`);
        return { report, exitCode: this.#refusal.exitCode };
      }
      if (interrupt.aborted) {
        output.say(
          this.#working === undefined
            ? "The rotation goes on in its worker. Look on with: simfleet authkeys rotate"
            : "Nothing is lost, and no AuthKey in use is revoked. Go on with: simfleet authkeys rotate",
        );
        return { report, exitCode: 1 };
      }
      await this.#seeToWorkers();
      await systemClock.sleep(lookEveryMs, interrupt).catch(() => undefined);
    }
  }

  #show(now: string): void {
    const { output, profile } = this.#ask;
    if (now === this.#said) return;
    this.#said = now;
    if (output.isLive) output.live(`AuthKey of ${profile}: ${now}`);
    else output.say(`AuthKey of ${profile}: ${now}`);
  }

  async #seeToWorkers(): Promise<void> {
    const { app, output, profile } = this.#ask;
    const nowMs = systemClock.monotonicMs();
    if (this.#working !== undefined || nowMs < this.#nextLookForWorkersMs) return;
    this.#nextLookForWorkersMs = nowMs + lookForWorkersMs;
    if (await app.authKeys.isServed(profile)) return;
    this.#working = await app.consumeAuthKeys(profile, ({ message, refusal }) => {
      if (refusal !== undefined) this.#refusal = refusal;
      else output.say(`simfleet: ${message}`);
    });
  }

  async stopWorking(): Promise<void> {
    await this.#working?.stop();
    this.#working = undefined;
  }
}
