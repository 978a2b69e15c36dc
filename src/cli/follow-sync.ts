/** Shows a sync until it is over, and works on it in this process while no live worker does. */
import type { App, Working } from "#app.ts";
import type { PlatformError } from "#core/errors.ts";
import { systemClock } from "#core/time.ts";
import type { SyncReport } from "#runs/sync-report.ts";
import { type Output, grouped } from "./output.ts";

const lookEveryMs = 150;
const lookForWorkersMs = 2_000;
const plainLineEveryMs = 10_000;

/** @returns the sync as it stood at the end, and the exit code that tells of it */
export async function followSync(ask: {
  app: App;
  output: Output;
  profile: string;
  interrupt: AbortSignal;
}): Promise<{ report: SyncReport; exitCode: number }> {
  const follower = new SyncFollower(ask);
  try {
    return await follower.run();
  } finally {
    await follower.stopWorking();
    ask.output.clearLiveLine();
  }
}

class SyncFollower {
  readonly #ask: Parameters<typeof followSync>[0];
  #working: Working | undefined;
  #refusal: PlatformError | undefined;
  #lastTrouble = "";
  #nextLookForWorkersMs = 0;
  #nextPlainLineMs = systemClock.monotonicMs() + plainLineEveryMs;

  constructor(ask: Parameters<typeof followSync>[0]) {
    this.#ask = ask;
  }

  async run(): Promise<{ report: SyncReport; exitCode: number }> {
    const { app, output, profile, interrupt } = this.#ask;
    for (;;) {
      const report = await app.sims.syncReport(profile);
      if (report === undefined) throw new Error(`the sync of ${profile} vanished`);
      if (report.state === "finished") return { report, exitCode: 0 };
      if (report.state === "failed") return { report, exitCode: 4 };
      await this.#show(report);
      if (this.#refusal !== undefined) {
        output.say(`The platform refuses us: ${this.#refusal.message}`);
        return { report, exitCode: this.#refusal.exitCode };
      }
      if (interrupt.aborted) return { report: await this.#leave(report), exitCode: 1 };
      await this.#seeToWorkers();
      await systemClock.sleep(lookEveryMs, interrupt).catch(() => undefined);
    }
  }

  async #leave(report: SyncReport): Promise<SyncReport> {
    const { app, output, profile } = this.#ask;
    const wasOurs = this.#working !== undefined;
    await this.stopWorking();
    const last = (await app.sims.syncReport(profile)) ?? report;
    output.say(
      wasOurs
        ? `Nothing is lost: the sync stands after page ${grouped(last.pages)}. Go on with: simfleet sims sync`
        : "The sync goes on in its worker.",
    );
    return last;
  }

  async #show({ sims, pages, state }: SyncReport): Promise<void> {
    const { app, output, profile } = this.#ask;
    const nowMs = systemClock.monotonicMs();
    if (!output.isLive && nowMs < this.#nextPlainLineMs) return;
    this.#nextPlainLineMs = nowMs + plainLineEveryMs;
    const bucket = await app.desk.bucket(app.bucketOf(profile));
    const toRefreshMs = (bucket.refreshLatestMs ?? bucket.nowMs) - bucket.nowMs;
    const isWaiting = bucket.left === 0 && toRefreshMs > 0;
    const wait = isWaiting ? `, the quota refreshes in ${Math.ceil(toRefreshMs / 1_000)} s` : "";
    const line =
      state === "sweeping" ? "marking what is gone" : `${grouped(sims)} SIMs, ${grouped(pages)} pages${wait}`;
    if (output.isLive) output.live(line);
    else output.say(line);
  }

  async #seeToWorkers(): Promise<void> {
    const { app, output, profile } = this.#ask;
    const nowMs = systemClock.monotonicMs();
    if (this.#working !== undefined || nowMs < this.#nextLookForWorkersMs) return;
    this.#nextLookForWorkersMs = nowMs + lookForWorkersMs;
    if (await app.sims.isServed(profile)) return;
    this.#working = await app.consumeSyncs(profile, ({ message, refusal }) => {
      if (refusal !== undefined) this.#refusal = refusal;
      // A spent quota is told of by the live line.
      if (message !== this.#lastTrouble && !message.startsWith("The quota of ")) output.say(`simfleet: ${message}`);
      this.#lastTrouble = message;
    });
  }

  async stopWorking(): Promise<void> {
    await this.#working?.stop();
    this.#working = undefined;
  }
}
