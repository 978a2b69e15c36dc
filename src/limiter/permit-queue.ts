/**
 * One process's side of one bucket: a queue of callers that wait for permits, and a list of responses to report. What
 * arrives during an exchange with Redis is batched into the next, so a busy process makes few large exchanges and an
 * idle one responds at once. While much of the quota is left, bucket.lua also grants permits ahead of the callers, who
 * then wait for nothing. bucket.lua makes all decisions; this class keeps no state that a crash could lose.
 */
import { PlatformError, SimfleetError, messageOf } from "#core/errors.ts";
import { type Clock, yieldToEventLoop } from "#core/time.ts";
import type { Permit, PermitRequest, QuotaReading, Urgency } from "./permit.ts";

/** Longest wait for a permit inside this process; the caller must handle a longer one. */
export const patienceMs = 2_000;
const maxPerExchange = 128;
const idlePollMs = 10;
/** Permits taken ahead, at most. */
const maxAhead = 64;
/** A permit taken ahead is given back after this time; bucket.lua grants none that could then outlive its window. */
const aheadMs = 200;
/** All are given back when no caller came for so long. */
const idleMs = 50;
/** Time between two exchanges while permits are at hand: the next reports go together. */
const reportMs = 20;
const unknownBacklog = (): number => -1;
/** Why a sleep ended early; created once, since creating an error for every response is expensive. */
const awake = new Error("something came in");

/** One report to the bucket. */
export interface Observation {
  readonly permitNumber: number;
  readonly kind: "answered" | "throttled" | "lost" | "back";
  readonly window: number;
  readonly serial: number;
  /** Time of the store. */
  readonly grantedAtMs: number;
  readonly sentAfterMs: number;
  /** Time of the process. */
  readonly receivedAtMonotonicMs: number;
  readonly reading: QuotaReading | undefined;
  readonly retryAfterMs: number;
}

/** Reports of a process to a bucket, and what it requests in the same exchange. */
export interface ExchangeRequest {
  readonly want: number;
  /** Permits to take ahead, beyond those wanted now, if much of the quota is left. */
  readonly ahead: number;
  readonly firstPermitNumber: number;
  readonly urgency: Urgency;
  readonly backlog: number;
  readonly observations: readonly Observation[];
  /** Live calls may come at any time from now on, as through a gateway. */
  readonly mayComeLive?: true;
}

export type Exchange = Readonly<ReturnType<typeof exchangeIn>>;

/** The result of an exchange, in the reply of bucket.lua. */
export function exchangeIn(reply: readonly (string | number)[]) {
  return {
    nowMs: Number(reply[0]),
    window: Number(reply[1]),
    firstSerial: Number(reply[2]),
    granted: Number(reply[3]),
    /** Granted beyond those. */
    ahead: Number(reply[14]),
    waitMs: Number(reply[4]),
  };
}

interface Waiter extends Pick<PermitRequest, "urgency" | "signal"> {
  readonly backlog: () => number;
  readonly resolve: (permit: Permit) => void;
  readonly reject: (reason: unknown) => void;
}

interface Spare {
  readonly permit: Permit;
  readonly receivedAtMs: number;
}

export class PermitQueue {
  readonly #bucket: string;
  readonly #exchange: (request: ExchangeRequest) => Promise<Exchange>;
  readonly #clock: Clock;
  #waiters: Waiter[] = [];
  readonly #observations: Observation[] = [];
  /** Observations of an exchange that failed, for the next one: else their permits count until the lease ends. */
  #unreported: readonly Observation[] = [];
  /** Permits taken ahead, the oldest first. */
  #spare: Spare[] = [];
  /** Permits that callers got since the last exchange, and when the last caller came. */
  #used = 0;
  #usedAtMs = 0;
  /** Permits that are to be at hand: those of two exchanges. */
  #aim = 0;
  /** Calls that are still wanted, as the last caller said. */
  #backlog = unknownBacklog;
  #exchangedAtMs = 0;
  #nextPermitNumber = 1;
  #isPumping = false;
  #sleeping: AbortController | undefined;
  /** Ends a rest, in which no caller waits and permits are at hand; does nothing between two rests. */
  #endRest = (): void => undefined;

  constructor(options: { bucket: string; clock: Clock; exchange: (request: ExchangeRequest) => Promise<Exchange> }) {
    this.#bucket = options.bucket;
    this.#clock = options.clock;
    this.#exchange = options.exchange;
  }

  acquire({ urgency, backlog = unknownBacklog, signal }: Omit<PermitRequest, "bucket" | "pace">): Promise<Permit> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const permit = urgency === "normal" ? this.#takeSpare() : undefined;
      if (permit === undefined) this.#waiters.push({ urgency, backlog, signal, resolve, reject });
      else resolve(permit);
      if (urgency === "priority" || this.#runsLow()) this.#endRest();
      if (urgency === "priority") this.#sleeping?.abort(awake);
      this.#pump();
    });
  }

  #takeSpare(): Permit | undefined {
    const next = this.#spare[0];
    this.#usedAtMs = this.#clock.monotonicMs();
    if (next === undefined || this.#usedAtMs - next.receivedAtMs > aheadMs) return undefined;
    this.#spare.shift();
    this.#used += 1;
    return next.permit;
  }

  /** Whether permits taken ahead would soon be used up; also if none are taken ahead. */
  #runsLow(): boolean {
    return this.#spare.length < this.#aim / 2 || this.#spare.length === 0;
  }

  /** Gives back permits taken ahead: the unused ones, or all. */
  #giveBackSpare(which: "unused" | "all"): void {
    const nowMs = this.#clock.monotonicMs();
    const isIdle = which === "all" || nowMs - this.#usedAtMs > idleMs;
    const isKept = ({ receivedAtMs }: Spare): boolean => !isIdle && nowMs - receivedAtMs <= aheadMs;
    const back = this.#spare.filter((one) => !isKept(one));
    if (back.length === 0) return;
    this.#spare = this.#spare.filter(isKept);
    for (const { permit } of back) permit.giveBack();
  }

  /** Removes callers that have aborted. There is no listener per caller, since that would cost time for every call. */
  #dropAborted(): void {
    if (!this.#waiters.some(({ signal }) => signal?.aborted)) return;
    const gone = this.#waiters.filter(({ signal }) => signal?.aborted);
    this.#waiters = this.#waiters.filter(({ signal }) => !signal?.aborted);
    for (const { reject, signal } of gone) reject(signal?.reason);
  }

  #report(observation: Observation): void {
    this.#observations.push(observation);
    if (observation.kind === "throttled") this.#giveBackSpare("all");
    if (this.#spare.length === 0) {
      this.#endRest();
      this.#sleeping?.abort(awake);
    }
    this.#pump();
  }

  #pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    void this.#run().finally(() => {
      this.#isPumping = false;
      if (this.#hasWork()) this.#pump();
    });
  }

  #hasWork(): boolean {
    return this.#waiters.length > 0 || this.#observations.length > 0 || this.#spare.length > 0;
  }

  async #run(): Promise<void> {
    await yieldToEventLoop(); // lets callers and responses of the same event loop iteration join the first exchange
    while (this.#hasWork()) {
      this.#dropAborted();
      this.#giveBackSpare("unused");
      if (this.#mayRest()) {
        await this.#rest();
        continue;
      }
      const waits: { readonly urgency: Urgency; readonly waitMs: number }[] = [];
      // Those that wait for live calls do not hold up the others, nor the other way round.
      for (const urgency of this.#urgencies()) {
        const waitMs = await this.#exchangeFor(urgency);
        if (waitMs === "failed") return;
        if (waitMs !== undefined) waits.push({ urgency, waitMs });
      }
      await this.#waitFor(waits);
      await yieldToEventLoop();
    }
  }

  /** Whether no caller waits, permits are at hand, and reports can wait for others. */
  #mayRest(): boolean {
    if (this.#waiters.length > 0 || this.#runsLow()) return false;
    return this.#observations.length === 0 || this.#clock.monotonicMs() - this.#exchangedAtMs < reportMs;
  }

  /** The kinds of callers that wait, `priority` first; there is an exchange for reports alone. */
  #urgencies(): readonly Urgency[] {
    const waiting = (["priority", "normal"] as const).filter((kind) =>
      this.#waiters.some(({ urgency }) => urgency === kind),
    );
    return waiting.length === 0 ? ["normal"] : waiting;
  }

  /** @returns how long callers have to wait, in ms, if some have to; `failed`: all callers were rejected */
  async #exchangeFor(urgency: Urgency): Promise<number | undefined | "failed"> {
    const line = this.#waiters.filter((waiter) => waiter.urgency === urgency).slice(0, maxPerExchange);
    const observations = [...this.#unreported, ...this.#observations.splice(0, maxPerExchange)];
    this.#unreported = [];
    this.#backlog = line.at(-1)?.backlog ?? this.#backlog;
    const ahead = urgency === "normal" ? this.#wantedAhead(line.length) : 0;
    const firstPermitNumber = this.#nextPermitNumber;
    this.#nextPermitNumber += line.length + ahead;
    this.#exchangedAtMs = this.#clock.monotonicMs();
    let reply: Exchange;
    try {
      reply = await this.#exchange({
        want: line.length,
        ahead,
        firstPermitNumber,
        urgency,
        backlog: line.length === 0 ? this.#backlog() : Math.max(-1, ...line.map((w) => w.backlog())),
        observations,
      });
    } catch (thrown) {
      this.#unreported = observations;
      this.#giveBackSpare("all");
      const message = `The bucket ${this.#bucket} cannot be used: ${messageOf(thrown)}`;
      const reason = new SimfleetError("STORE_UNAVAILABLE", message, { cause: thrown });
      for (const waiter of this.#waiters.splice(0)) waiter.reject(reason);
      return "failed";
    }
    this.#handOut(reply, firstPermitNumber, line);
    return reply.granted < line.length ? reply.waitMs : undefined;
  }

  /** How many permits to take ahead: callers use up as many in two exchanges. */
  #wantedAhead(wanted: number): number {
    this.#aim = Math.min(maxAhead, 2 * (this.#used + wanted));
    this.#used = 0;
    return Math.max(0, this.#aim - this.#spare.length);
  }

  #handOut(reply: Exchange, firstPermitNumber: number, line: readonly Waiter[]): void {
    const receivedAtMs = this.#clock.monotonicMs();
    if (reply.granted < line.length) this.#giveBackSpare("all");
    const served = new Set(line.slice(0, reply.granted));
    this.#waiters = this.#waiters.filter((waiter) => !served.has(waiter));
    for (let i = 0; i < reply.granted + reply.ahead; i += 1) {
      const permit = this.#permit(
        {
          permitNumber: firstPermitNumber + i,
          window: reply.window,
          serial: reply.firstSerial + i,
          grantedAtMs: reply.nowMs,
        },
        receivedAtMs,
      );
      const waiter = line[i];
      if (i >= reply.granted) {
        this.#spare.push({ permit, receivedAtMs });
      } else if (waiter !== undefined && !waiter.signal?.aborted) {
        waiter.resolve(permit);
      } else {
        // Its caller aborted during the exchange.
        permit.giveBack();
        waiter?.reject(waiter.signal?.reason);
      }
    }
  }

  /** Rejects those that would have to wait too long, and sleeps for the shortest of the other waits. */
  async #waitFor(waits: readonly { readonly urgency: Urgency; readonly waitMs: number }[]): Promise<void> {
    for (const { urgency, waitMs } of waits) {
      if (waitMs <= patienceMs) continue;
      const refused = this.#waiters.filter((w) => w.urgency === urgency);
      this.#waiters = this.#waiters.filter((w) => w.urgency !== urgency);
      for (const waiter of refused) waiter.reject(spent(this.#bucket, waitMs));
    }
    const waitMs = Math.min(...waits.map((one) => one.waitMs).filter((ms) => ms <= patienceMs));
    if (waitMs === Number.POSITIVE_INFINITY || this.#observations.length > 0) return;
    await this.#sleep(waitMs > 0 ? waitMs : idlePollMs);
  }

  /** Lets reports come together. The timer stays if the rest ends early: an abort takes longer than an exchange. */
  #rest(): Promise<void> {
    return new Promise((resolve) => {
      this.#endRest = resolve;
      void this.#clock.sleep(reportMs).then(resolve);
    });
  }

  /** Ends early if a waiting caller aborts. */
  async #sleep(ms: number): Promise<void> {
    this.#sleeping = new AbortController();
    const wakers = new Set([this.#sleeping.signal, ...this.#waiters.flatMap(({ signal }) => signal ?? [])]);
    await this.#clock.sleep(ms, AbortSignal.any([...wakers])).catch(() => undefined);
    this.#sleeping = undefined;
  }

  #permit(
    facts: { permitNumber: number; window: number; serial: number; grantedAtMs: number },
    receivedAtMs: number,
  ): Permit {
    let sentAfterMs = 0;
    let isOver = false;
    const end = (kind: Observation["kind"], reading?: QuotaReading, retryAfterMs = 0): void => {
      if (isOver) return;
      isOver = true;
      const receivedAtMonotonicMs = this.#clock.monotonicMs();
      this.#report({ ...facts, kind, sentAfterMs, receivedAtMonotonicMs, reading, retryAfterMs });
    };
    return {
      sending: () => {
        sentAfterMs = this.#clock.monotonicMs() - receivedAtMs;
      },
      answered: ({ reading, throttled, retryAfterMs }) =>
        end(throttled ? "throttled" : "answered", reading, retryAfterMs ?? 0),
      lost: () => end("lost"),
      giveBack: () => end("back"),
    };
  }
}

function spent(bucket: string, waitMs: number): PlatformError {
  return new PlatformError(
    "PLATFORM_RATE_LIMITED",
    `The quota of ${bucket} is used up; it resets in ${(waitMs / 1_000).toFixed(1)} s`,
    { operation: bucket, bucket, retryAfterMs: Math.max(1, Math.ceil(waitMs)) },
  );
}
