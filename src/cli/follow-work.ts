/**
 * Shows work until it is over or waits for what takes hours: a sync, a rotation, or a run of a worker elsewhere. Work of
 * this machine's own Redis is also done in this process while no live worker does it. A Ctrl-C ends the showing, and
 * the work where it was done here. What is said of the work, and when it is over, is the asker's.
 */
import type { Working } from "#app/app.ts";
import type { PlatformError } from "#core/errors.ts";
import { systemClock } from "#core/time.ts";
import type { Output } from "./output.ts";

const pollIntervalMs = 150;
/** A worker elsewhere is asked over the network, and bounds how often. */
const remotePollIntervalMs = 1_000;
const workerPollMs = 2_000;

interface Incident {
  readonly message: string;
  readonly refusal?: PlatformError;
  readonly isInReport?: boolean;
}

/** How the work is done in this process. */
interface Workplace {
  isServed(): Promise<boolean>;
  work(onIncident: (incident: Incident) => void): Promise<Working>;
}

export interface FollowWork<Report> {
  readonly output: Output;
  readonly interrupt: AbortSignal;
  /** Absent where a worker elsewhere does the work. */
  readonly workplace?: Workplace | undefined;
  readonly report: () => Promise<Report>;
  /** The exit code once nothing more is to be shown; undefined while the work goes on. */
  endOf(report: Report): number | undefined;
  show(report: Report): void | Promise<void>;
  /** What is said at a Ctrl-C. @param how `wasOurs`: it was done in this process */
  leaving(report: Report, how: { wasOurs: boolean }): string;
}

/** @returns the work as it stood at the end, and the exit code that tells of it */
export async function followWork<Report>(ask: FollowWork<Report>): Promise<{ report: Report; exitCode: number }> {
  const worked = new WorkHere(ask.workplace, ask.output);
  try {
    return await poll(ask, worked);
  } finally {
    await worked.stop();
    ask.output.clearLiveLine();
  }
}

async function poll<Report>(ask: FollowWork<Report>, worked: WorkHere): Promise<{ report: Report; exitCode: number }> {
  const { output, interrupt, workplace } = ask;
  const everyMs = workplace === undefined ? remotePollIntervalMs : pollIntervalMs;
  let report = await ask.report();
  for (;;) {
    const end = ask.endOf(report);
    if (end !== undefined) return { report, exitCode: end };
    await ask.show(report);
    if (worked.refusal !== undefined) {
      output.say(`The platform rejected the credentials: ${worked.refusal.message}`);
      return { report, exitCode: worked.refusal.exitCode };
    }
    if (interrupt.aborted) {
      const wasOurs = await worked.stop();
      report = await latest(ask, report);
      output.say(ask.leaving(report, { wasOurs }));
      return { report, exitCode: 1 };
    }
    await worked.seeToIt();
    await systemClock.sleep(everyMs, interrupt).catch(() => undefined);
    report = await latest(ask, report);
  }
}

/** As it stands; where a Ctrl-C cuts the question short, as it was last seen. */
function latest<Report>({ report, interrupt }: FollowWork<Report>, seen: Report): Promise<Report> {
  return report().catch((thrown: unknown) => {
    if (interrupt.aborted) return seen;
    throw thrown;
  });
}

/** Takes the work up in this process when nobody else does it, also when the one who did has gone. */
class WorkHere {
  readonly #place: Workplace | undefined;
  readonly #output: Output;
  #working: Working | undefined;
  #lastIncident = "";
  #nextPollMs = 0;
  /** Why the platform lets us do nothing. */
  refusal: PlatformError | undefined;

  constructor(place: Workplace | undefined, output: Output) {
    this.#place = place;
    this.#output = output;
  }

  async seeToIt(): Promise<void> {
    const nowMs = systemClock.monotonicMs();
    if (this.#place === undefined || this.#working !== undefined || nowMs < this.#nextPollMs) return;
    this.#nextPollMs = nowMs + workerPollMs;
    if (await this.#place.isServed()) return;
    this.#working = await this.#place.work((incident) => this.#emit(incident));
  }

  #emit({ message, refusal, isInReport = false }: Incident): void {
    const isNews = message !== this.#lastIncident && !isInReport;
    if (refusal !== undefined) this.refusal = refusal;
    else if (isNews) this.#output.say(`simfleet: ${message}`);
    this.#lastIncident = message;
  }

  /** @returns whether it was done here */
  async stop(): Promise<boolean> {
    const wasOurs = this.#working !== undefined;
    await this.#working?.stop();
    this.#working = undefined;
    return wasOurs;
  }
}
