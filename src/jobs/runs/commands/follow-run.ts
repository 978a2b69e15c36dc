/**
 * Shows a run until it ends. Without `--server` it also processes the run in this process while no live worker does.
 * `apply`, `runs resume`, `runs retry` and `runs watch` all use it. Ctrl-C stops the display and, if this process did the
 * work, pauses the run; the message says how to resume.
 */
import { runs } from "../feature.ts";
import type { Working } from "#engine/queue/job-result.ts";
import { messageOf, type PlatformError, SimfleetError } from "#core/errors.ts";
import { type Clock, systemClock } from "#core/time.ts";
import { isRunOver, isRunSettled } from "#fleet/run.ts";
import type { BucketState } from "#limiter/limiter.ts";
import { type RunReport, showRun } from "../contract.ts";
import { exitCodeOf } from "../report.ts";
import type { Caller } from "#cli/context.ts";
import type { Output } from "#cli/output.ts";
import { PlainLines } from "#cli/follow/follow-work.ts";
import { Progress } from "./progress.ts";
import { duration, counted } from "#cli/format.ts";

const pollIntervalMs = 200;
/** A remote worker is polled over the network and has a rate limit. */
const remotePollIntervalMs = 1_000;
const workerPollMs = 2_000;
/** After this time without an answer the user is informed, and a command that stops no longer waits for it. */
const silenceMs = 3_000;
const silenceAtStopMs = 500;

export interface FollowRequest extends Pick<Caller, "client" | "app"> {
  readonly output: Output;
  readonly runId: string;
  readonly interrupt: AbortSignal;
  /** `watch` never processes the run itself. */
  readonly mode: "work" | "watch";
  /** How to resume the run; default: `simfleet runs resume RUN`. */
  readonly resumeCommand?: string | undefined;
  readonly clock?: Clock;
}

/** The last report of the run, and the exit code. */
export interface Followed {
  readonly report: RunReport;
  readonly exitCode: number;
}

/** @throws SimfleetError RUN_NOT_FOUND, STORE_UNAVAILABLE, WORKER_UNREACHABLE */
export async function follow(request: FollowRequest): Promise<Followed> {
  const follower = new Follower(request);
  try {
    return await follower.run();
  } finally {
    await follower.stopWorking();
    request.output.clearLiveLine();
  }
}

interface Snapshot {
  readonly report: RunReport;
  /** The quota that the run spends; undefined with a remote worker. */
  readonly bucket: BucketState | undefined;
}

class Follower {
  readonly #request: FollowRequest;
  readonly #clock: Clock;
  readonly #progress: Progress;
  #consumer: Working | undefined;
  #refusal: PlatformError | undefined;
  #lastIncident = "";
  #pending: Promise<Snapshot> | undefined;
  #silentSinceMs: number | undefined;
  readonly #silence: PlainLines;
  #nextWorkerPollMs = 0;
  #last: RunReport | undefined;

  constructor(request: FollowRequest) {
    this.#request = request;
    this.#clock = request.clock ?? systemClock;
    this.#progress = new Progress(request.output);
    this.#silence = new PlainLines(request.output, 10_000);
  }

  async run(): Promise<Followed> {
    const { app, runId, interrupt, mode } = this.#request;
    const bucket = app === undefined ? "" : (await app.service(runs).service.record(runId)).bucket;
    for (;;) {
      const poll = await this.#poll(bucket);
      if (poll === undefined) {
        if (interrupt.aborted) throw this.#leftInSilence();
        this.#reportSilence();
        continue;
      }
      const { report } = poll;
      this.#silentSinceMs = undefined;
      this.#progress.show(report, poll.bucket, this.#clock.monotonicMs());
      if (isRunSettled(report)) return this.#end(report);
      if (this.#refusal !== undefined) return this.#leaveRefused(this.#refusal);
      if (interrupt.aborted) return this.#leave();
      if (report.state === "paused") return this.#pausedByAnother(report);
      if (report.state === "awaiting-approval" && mode === "work") return this.#leftForApproval(report);
      await this.#seeToWorkers(bucket, report.profile);
      await this.#clock
        .sleep(app === undefined ? remotePollIntervalMs : pollIntervalMs, interrupt)
        .catch(() => undefined);
    }
  }

  /** The current state; undefined if there is no answer in time. The request stays pending. */
  async #poll(bucket: string): Promise<Snapshot | undefined> {
    const { app, interrupt } = this.#request;
    this.#pending ??= Promise.all([this.#report(), app?.kernel.limiter.state(bucket)])
      .then(([report, state]) => ({ report, bucket: state }))
      .finally(() => (this.#pending = undefined));
    const answered = new AbortController();
    const hurry = AbortSignal.any([interrupt, answered.signal]);
    const silence = async (): Promise<undefined> => {
      await this.#clock.sleep(silenceMs, hurry).catch(() => undefined);
      await this.#clock.sleep(silenceAtStopMs, answered.signal).catch(() => undefined);
    };
    try {
      return await Promise.race([this.#pending, silence()]);
    } finally {
      answered.abort();
    }
  }

  /** The report of the run; after Ctrl-C the last one, since the request to a remote worker is aborted too. */
  async #report(): Promise<RunReport> {
    const { client, app, runId, interrupt } = this.#request;
    try {
      this.#last = await client.call(showRun, { params: { runId } });
      return this.#last;
    } catch (thrown) {
      if (app !== undefined || !interrupt.aborted || this.#last === undefined) throw thrown;
      return this.#last;
    }
  }

  #reportSilence(): void {
    const nowMs = this.#clock.monotonicMs();
    this.#silentSinceMs ??= nowMs - silenceMs;
    const silentMs = nowMs - this.#silentSinceMs;
    const line =
      this.#request.app === undefined
        ? `The worker has not answered for ${duration(silentMs)}. Nothing is lost: the run continues there.`
        : `Redis has not answered for ${duration(silentMs)}. Nothing is lost: the run waits for it.`;
    this.#silence.show(line, { topic: "silence", nowMs });
  }

  /** Without Redis the work cannot be stopped cleanly; its locks expire by themselves. */
  #leftInSilence(): SimfleetError {
    this.#consumer = undefined;
    const { runId } = this.#request;
    return new SimfleetError(
      "STORE_UNAVAILABLE",
      `Redis is not responding, so this command stopped. No recorded outcome is lost. When Redis is back, resume with: simfleet runs resume ${runId}`,
    );
  }

  #leftForApproval(report: RunReport): Followed {
    const { output, runId } = this.#request;
    output.say(`The run is waiting for approval by someone else: simfleet runs approve ${runId}`);
    return this.#end(report);
  }

  /** Starts to process the run locally if no worker does, also after a worker has stopped. */
  async #seeToWorkers(bucket: string, profile: string): Promise<void> {
    const { app, mode } = this.#request;
    const nowMs = this.#clock.monotonicMs();
    if (app === undefined || mode === "watch" || this.#consumer !== undefined || nowMs < this.#nextWorkerPollMs) return;
    this.#nextWorkerPollMs = nowMs + workerPollMs;
    if (await app.service(runs).service.isServed(bucket)) return;
    this.#consumer = await app.service(runs).consume({ profile, bucket }, (incident) => {
      if (incident.refusal !== undefined) this.#refusal = incident.refusal;
      if (incident.message !== this.#lastIncident) this.#request.output.say(`simfleet: ${incident.message}`);
      this.#lastIncident = incident.message;
    });
  }

  async stopWorking(): Promise<void> {
    await this.#consumer?.stop();
    this.#consumer = undefined;
  }

  #end(report: RunReport): Followed {
    return { report, exitCode: exitCodeOf(report) };
  }

  #pausedByAnother(report: RunReport): Followed {
    this.#request.output.say(
      `The run was paused${report.reason ? ` (${report.reason})` : ""}. Resume with: simfleet runs resume ${report.runId}`,
    );
    return this.#end(report);
  }

  async #leave(): Promise<Followed> {
    const { output, runId, interrupt } = this.#request;
    if (this.#consumer === undefined) {
      output.say(`The run continues in its worker. Follow it with: simfleet runs watch ${runId}`);
      output.say(`Pause it with: simfleet runs pause ${runId}`);
      return this.#end(await this.#report());
    }
    output.say("Stopping: waiting for calls in flight …");
    return this.#holdRun(stopReason(interrupt));
  }

  async #leaveRefused(refusal: PlatformError): Promise<Followed> {
    const isOurs = refusal.code === "CONFIG_INVALID";
    this.#request.output.say(
      isOurs ? `simfleet: ${refusal.message}` : `The platform rejected the credentials: ${refusal.message}`,
    );
    const { report } = await this.#holdRun(refusal.message);
    return { report, exitCode: refusal.exitCode };
  }

  /** Pauses the run that was processed locally, unless it has ended. */
  async #holdRun(reason: string): Promise<Followed> {
    const { app, output, runId, resumeCommand = `simfleet runs resume ${runId}` } = this.#request;
    await app
      ?.service(runs)
      .service.control.pause(runId, { reason })
      .catch(() => undefined);
    await this.stopWorking();
    const report = await this.#report();
    if (!isRunOver(report.state)) {
      const { pending } = report.counts;
      output.say(`Paused. ${counted(pending, "row")} left; nothing is lost.`);
      output.say(`Resume with: ${resumeCommand}`);
    }
    return this.#end(report);
  }
}

/** `stopped with Ctrl-C`, or such as `stopped by SIGTERM`: the signal as the entry point reports it. */
export function stopReason({ reason }: AbortSignal): string {
  const signal = messageOf(reason);
  return /^stopped by SIG(TERM|HUP)$/.test(signal) ? signal : "stopped with Ctrl-C";
}
