/**
 * Shows a sync or a rotation until it ends or has to wait for hours. Work in this machine's own Redis is also
 * done in this process while no live worker does it. Ctrl-C stops the display, and the work if it was local. The caller
 * defines the texts and when the work has ended.
 */
import type { Working } from "#engine/queue/job-result.ts";
import type { PlatformError } from "#core/errors.ts";
import { systemClock } from "#core/time.ts";
import type { Output } from "../output.ts";

const pollIntervalMs = 150;
/** A remote worker is polled over the network and has a rate limit. */
const remotePollIntervalMs = 1_000;
const workerPollMs = 2_000;
const plainLineEveryMs = 10_000;

interface Incident {
  readonly message: string;
  readonly refusal?: PlatformError;
  readonly isInReport?: boolean;
}

/** How the work is done in this process. */
interface LocalWork {
  isServed(): Promise<boolean>;
  work(onIncident: (incident: Incident) => void): Promise<Working>;
}

/** How the status of the work is shown. */
export interface StatusLine {
  readonly text: string;
  /** Shown instead on a terminal. */
  readonly live?: string;
  /** A line of another topic (a state, an attempt) is shown at once; see `PlainLines`. */
  readonly topic: string;
}

export interface FollowWork<Report> {
  readonly output: Output;
  readonly interrupt: AbortSignal;
  /** Absent if a remote worker does the work. */
  readonly localWork?: LocalWork | undefined;
  readonly report: () => Promise<Report>;
  /** The exit code once the work has ended; undefined while it is in progress. */
  endOf(report: Report): number | undefined;
  /** The current status; undefined if there is nothing to show. */
  line(report: Report): StatusLine | undefined | Promise<StatusLine>;
  /** The message at Ctrl-C. @param how `wasLocal`: the work was done in this process */
  leaving(report: Report, options: { wasLocal: boolean }): string;
}

/** @returns the last report of the work, and the exit code */
export async function followWork<Report>(options: FollowWork<Report>): Promise<{ report: Report; exitCode: number }> {
  const worked = new LocalWorker(options.localWork, options.output);
  try {
    return await poll(options, worked);
  } finally {
    await worked.stop();
    options.output.clearLiveLine();
  }
}

async function poll<Report>(
  options: FollowWork<Report>,
  worked: LocalWorker,
): Promise<{ report: Report; exitCode: number }> {
  const { output, interrupt, localWork } = options;
  const everyMs = localWork === undefined ? remotePollIntervalMs : pollIntervalMs;
  const lines = new PlainLines(output, plainLineEveryMs);
  let report = await options.report();
  for (;;) {
    const end = options.endOf(report);
    if (end !== undefined) return { report, exitCode: end };
    const line = await options.line(report);
    if (line !== undefined && output.isLive) output.live(line.live ?? line.text);
    else if (line !== undefined) lines.show(line.text, { topic: line.topic, nowMs: systemClock.monotonicMs() });
    if (worked.refusal !== undefined) {
      output.say(`The platform rejected the credentials: ${worked.refusal.message}`);
      return { report, exitCode: worked.refusal.exitCode };
    }
    if (interrupt.aborted) {
      const wasLocal = await worked.stop();
      report = await latest(options, report);
      output.say(options.leaving(report, { wasLocal }));
      return { report, exitCode: 1 };
    }
    await worked.seeToIt();
    await systemClock.sleep(everyMs, interrupt).catch(() => undefined);
    report = await latest(options, report);
  }
}

/** The current report; after Ctrl-C the last known one, if the request was aborted. */
function latest<Report>({ report, interrupt }: FollowWork<Report>, seen: Report): Promise<Report> {
  return report().catch((thrown: unknown) => {
    if (interrupt.aborted) return seen;
    throw thrown;
  });
}

/** Does the work in this process while no worker does, also after a worker has stopped. */
class LocalWorker {
  readonly #place: LocalWork | undefined;
  readonly #output: Output;
  #working: Working | undefined;
  #lastIncident = "";
  #nextPollMs = 0;
  /** Set when the platform rejects all calls. */
  refusal: PlatformError | undefined;

  constructor(place: LocalWork | undefined, output: Output) {
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

  /** @returns whether the work was done in this process */
  async stop(): Promise<boolean> {
    const wasLocal = this.#working !== undefined;
    await this.#working?.stop();
    this.#working = undefined;
    return wasLocal;
  }
}

// Progress without a terminal: a line at every change of topic (a state, a problem), otherwise one every few seconds if it
// has changed, and at least one every 15 s.

const silenceMs = 15_000;

export class PlainLines {
  readonly #output: Output;
  readonly #everyMs: number;
  #lastMs = Number.NEGATIVE_INFINITY;
  #lastLine = "";
  #lastTopic = "";

  /** @param everyMs least time between two lines of one topic */
  constructor(output: Output, everyMs: number) {
    this.#output = output;
    this.#everyMs = everyMs;
  }

  /** @param how `nowMs` is monotonic */
  show(line: string, { topic, nowMs }: { readonly topic: string; readonly nowMs: number }): void {
    const sinceMs = nowMs - this.#lastMs;
    const isNew = line !== this.#lastLine && sinceMs >= this.#everyMs;
    if (topic === this.#lastTopic && !isNew && sinceMs < silenceMs) return;
    this.#lastMs = nowMs;
    this.#lastLine = line;
    this.#lastTopic = topic;
    this.#output.say(line);
  }
}
