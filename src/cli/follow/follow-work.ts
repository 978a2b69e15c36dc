/**
 * Shows a run, a sync or a rotation until it ends or has to wait for hours. Work in this machine's own Redis is also
 * done in this process while no live worker does it. Ctrl-C stops the display, and the work if it was local. The caller
 * defines the texts and when the work has ended.
 */
import type { Incident, Working } from "#engine/queue/job-result.ts";
import { type PlatformError, SimfleetError } from "#core/errors.ts";
import { systemClock } from "#core/time.ts";
import { App } from "#kernel/app.ts";
import type { AppFeature } from "#kernel/feature.ts";
import { duration } from "../format.ts";
import type { Caller } from "../context.ts";
import type { Output } from "../output.ts";

const pollIntervalMs = 200;
/** A remote worker is polled over the network and has a rate limit. */
const remotePollIntervalMs = 1_000;
const workerPollMs = 2_000;
const failoverPollMs = 1_000;
/** After this time without a response the user is informed, and a command that stops no longer waits for it. */
const silentAfterMs = 3_000;
const silentAtStopMs = 500;

export interface LocalWork {
  isServed(): Promise<boolean>;
  work(onIncident: (incident: Incident) => void): Promise<Working>;
}

/** The work of a feature under a key, for this process to do; undefined with a remote worker, which does it itself. */
export function localWork<Key>(
  app: App | undefined,
  feature: AppFeature<{
    isServed(key: Key): Promise<boolean>;
    consume(key: Key, onIncident: (incident: Incident) => void): Promise<Working>;
  }>,
  key: Key,
): LocalWork | undefined {
  const service = app?.service(feature);
  return service && { isServed: () => service.isServed(key), work: (onIncident) => service.consume(key, onIncident) };
}

/** Says a text if no process does the work; a remote worker, without `work` here, does it itself. */
export async function sayIfUnserved(work: LocalWork | undefined, output: Output, text: string): Promise<void> {
  if (work !== undefined && !(await work.isServed())) output.say(text);
}

/** How a command ends, and what it says then. */
export interface End {
  readonly exitCode: number;
  readonly lines?: readonly string[];
  /** The work has not ended, but waits for somebody: a rejection of the platform, or Ctrl-C, says why. */
  readonly isHalt?: boolean;
}

/** Without an app, a worker on another machine answers, not Redis. */
export interface FollowWork<Report> extends Pick<Caller, "app" | "output" | "interrupt"> {
  /** Such as `run`. */
  readonly what: string;
  /** Work that this process can do itself. Absent: the work is only shown. */
  readonly localWork?: LocalWork | undefined;
  /** The command that continues the work. */
  readonly resumeCommand: string;
  readonly report: () => Promise<Report>;
  readonly show: (report: Report, end: End | undefined) => void | Promise<void>;
  /** The end of the command once the work has ended; undefined while it is in progress. */
  readonly endOf: (report: Report) => End | undefined;
  /** Called before work in this process is stopped, after Ctrl-C or since the platform rejects all calls. */
  readonly beforeStop?: (refusal: PlatformError | undefined) => Promise<void>;
  /** The end after Ctrl-C. @param how `wasLocal`: the work was done in this process, and is stopped */
  readonly leaving: (report: Report, how: { readonly wasLocal: boolean }) => End;
}

/**
 * @returns the last report of the work, and the exit code
 * @throws SimfleetError STORE_UNAVAILABLE after Ctrl-C if Redis does not answer; errors of `report`
 */
export async function followWork<Report>(options: FollowWork<Report>): Promise<{ report: Report; exitCode: number }> {
  const { output, interrupt, what } = options;
  const isRemote = options.app === undefined;
  const local = localWorker(options.localWork, output);
  const nextReport = reportsOf(options);
  const saySilence = plainLines(output, 10_000);
  let silentSinceMs: number | undefined;
  try {
    for (;;) {
      const report = await nextReport();
      if (report === undefined) {
        if (interrupt.aborted) {
          local.abandon();
          const message = `Redis is not responding, so this command stopped. No recorded outcome is lost. When Redis is back, resume with: ${options.resumeCommand}`;
          throw new SimfleetError("STORE_UNAVAILABLE", message);
        }
        const nowMs = systemClock.monotonicMs();
        silentSinceMs ??= nowMs - silentAfterMs;
        const [who, then] = isRemote ? ["The worker", "continues there"] : ["Redis", "waits for it"];
        const silence = `${who} has not responded for ${duration(nowMs - silentSinceMs)}`;
        saySilence(`${silence}. Nothing is lost: the ${what} ${then}.`, { topic: "silence", nowMs });
        continue;
      }
      silentSinceMs = undefined;
      const end = options.endOf(report);
      await options.show(report, end);
      const refusal = local.refusal();
      const isStopping = refusal !== undefined || interrupt.aborted;
      if (end !== undefined && !(end.isHalt === true && isStopping)) return { report, exitCode: ended(end, output) };
      if (isStopping) return await leave(options, { local, refusal, seen: report });
      await local.workIfNobodyDoes();
      await systemClock.sleep(isRemote ? remotePollIntervalMs : pollIntervalMs, interrupt).catch(() => undefined);
    }
  } finally {
    await local.stop();
    output.clearLiveLine();
  }
}

async function leave<Report>(
  options: FollowWork<Report>,
  { local, refusal, seen }: { local: ReturnType<typeof localWorker>; refusal: PlatformError | undefined; seen: Report },
): Promise<{ report: Report; exitCode: number }> {
  const { output } = options;
  if (refusal !== undefined) {
    const isOurs = refusal.code === "CONFIG_INVALID";
    output.say(isOurs ? `simfleet: ${refusal.message}` : `The platform rejected the credentials: ${refusal.message}`);
  }
  const wasLocal = local.isWorking();
  if (wasLocal) await options.beforeStop?.(refusal);
  await local.stop();
  const report = await options.report().catch(() => seen);
  const exitCode = ended(options.leaving(report, { wasLocal }), output);
  return { report, exitCode: refusal?.exitCode ?? exitCode };
}

function ended({ exitCode, lines = [] }: End, output: Output): number {
  for (const line of lines) output.say(line);
  return exitCode;
}

/**
 * Asks for the report; undefined if there is no response in time, when the question stays open, or if a failover of
 * Redis is in progress. After Ctrl-C the last report counts, since a request to a remote worker is aborted too.
 */
function reportsOf<Report>({ report, interrupt, app }: FollowWork<Report>): () => Promise<Report | undefined> {
  let open: Promise<Report | undefined> | undefined;
  let last: Report | undefined;
  const ask = async (): Promise<Report | undefined> => {
    try {
      return (last = await report());
    } catch (thrown) {
      if (app === undefined && interrupt.aborted && last !== undefined) return last;
      if (!App.isFailover(thrown)) throw thrown;
      await systemClock.sleep(failoverPollMs, interrupt).catch(() => undefined);
      return undefined;
    }
  };
  return async () => {
    open ??= ask().finally(() => (open = undefined));
    open.catch(() => undefined);
    const answered = new AbortController();
    const hurry = AbortSignal.any([interrupt, answered.signal]);
    const silent = async (): Promise<undefined> => {
      await systemClock.sleep(silentAfterMs, hurry).catch(() => undefined);
      await systemClock.sleep(silentAtStopMs, answered.signal).catch(() => undefined);
    };
    try {
      return await Promise.race([open, silent()]);
    } finally {
      answered.abort();
    }
  };
}

/** Does the work in this process while no worker does, also after a worker has stopped. */
function localWorker(work: LocalWork | undefined, output: Output) {
  let working: Working | undefined;
  let lastIncident = "";
  let nextPollMs = 0;
  /** Set when the platform rejects all calls. */
  let refusal: PlatformError | undefined;

  const note = (incident: Incident): void => {
    const isNews = incident.message !== lastIncident && incident.isInReport !== true;
    if (incident.refusal !== undefined) refusal = incident.refusal;
    else if (isNews) output.say(`simfleet: ${incident.message}`);
    lastIncident = incident.message;
  };
  return {
    isWorking: () => working !== undefined,
    refusal: () => refusal,
    async workIfNobodyDoes(): Promise<void> {
      const nowMs = systemClock.monotonicMs();
      if (work === undefined || working !== undefined || nowMs < nextPollMs) return;
      nextPollMs = nowMs + workerPollMs;
      if (!(await work.isServed())) working = await work.work(note);
    },
    async stop(): Promise<void> {
      await working?.stop();
      working = undefined;
    },
    /** Without Redis the work cannot be stopped cleanly; its locks expire by themselves. */
    abandon(): void {
      working = undefined;
    },
  };
}

export interface StatusLine {
  readonly text: string;
  /** Shown instead on a terminal. */
  readonly live?: string;
  /** A line of another topic (a state, an attempt) is shown at once; see `plainLines`. */
  readonly topic: string;
}

const plainLineEveryMs = 10_000;

/** Shows lines of status until the work is over; undefined if there is nothing to show. */
export function showStatus<Report>(
  output: Output,
  lineOf: (report: Report) => StatusLine | undefined | Promise<StatusLine>,
): FollowWork<Report>["show"] {
  const showLine = plainLines(output, plainLineEveryMs);
  return async (report, end) => {
    const line = end === undefined ? await lineOf(report) : undefined;
    if (line === undefined) return;
    if (output.isLive) output.live(line.live ?? line.text);
    else showLine(line.text, { topic: line.topic, nowMs: systemClock.monotonicMs() });
  };
}

const silenceMs = 15_000;

/**
 * Shows progress without a terminal: a line at every change of topic (a state, a problem), otherwise one every few
 * seconds if it has changed, and at least one every 15 s.
 * @param everyMs least time between two lines of one topic
 * @returns shows a line if it is time for one; `nowMs` is monotonic
 */
export function plainLines(output: Output, everyMs: number) {
  let last = { line: "", topic: "", atMs: Number.NEGATIVE_INFINITY };
  return (line: string, { topic, nowMs }: { readonly topic: string; readonly nowMs: number }): void => {
    const sinceMs = nowMs - last.atMs;
    const isNew = line !== last.line && sinceMs >= everyMs;
    if (topic === last.topic && !isNew && sinceMs < silenceMs) return;
    last = { line, topic, atMs: nowMs };
    output.say(line);
  };
}
