/**
 * Permits for APIs with several quotas at once. A call takes one permit from each: of the fixed limits of its bucket and of
 * the policies that responses have shown. So no policy is exceeded, whichever is the tightest. As long as nothing is known,
 * the bucket itself gives the permits, and one call at a time finds out.
 */
import type { PolicyReading } from "../headers/rate-limit-headers.ts";
import type { BucketState, Limiter } from "../limiter.ts";
import type { QuotaReading, TimedPermit, Urgency } from "../permit.ts";
import type { KnownPolicies, Policy } from "./known-policies.ts";

export interface FixedLimit {
  readonly limit: number;
  readonly periodMs: number;
}

export interface PolicyAnswer {
  readonly reading?: QuotaReading | undefined;
  readonly policies?: readonly PolicyReading[] | undefined;
  readonly throttled: boolean;
  readonly retryAfterMs?: number | undefined;
}

export interface PolicyPermit {
  sending(): void;
  answered(answer: PolicyAnswer): void;
  lost(): void;
  giveBack(): void;
}

export interface PolicyLimiterOptions {
  /** Gives the permits of a bucket of which nothing is known, or whose responses have the platform's headers. */
  readonly limiter: Limiter;
  /** The limiter of all policies with this period; `fixedLimit`: the limit is not sent. */
  readonly limiterOf: (options: { readonly periodMs: number; readonly fixedLimit: number | undefined }) => Limiter;
  readonly policies: KnownPolicies;
  /** Limits that the API documents, by bucket. */
  readonly limits: Readonly<Record<string, readonly FixedLimit[]>>;
  readonly onError: (error: unknown) => void;
}

/** One of the quotas that a call takes a permit from. */
interface Part {
  readonly limiter: Limiter;
  readonly bucket: string;
  readonly policy: Policy | undefined;
  readonly periodMs: number;
}

interface Held {
  readonly part: Part;
  readonly permit: TimedPermit;
}

export interface PolicyRequest {
  readonly bucket: string;
  readonly partition: string;
  readonly urgency: Urgency;
  readonly backlog: (() => number) | undefined;
  readonly signal: AbortSignal | undefined;
}

export class PolicyLimiter {
  readonly #options: PolicyLimiterOptions;
  readonly #withOwnHeaders = new Set<string>();

  constructor(options: PolicyLimiterOptions) {
    this.#options = options;
  }

  /** As Limiter.acquire. */
  async acquire(request: PolicyRequest): Promise<PolicyPermit> {
    for (;;) {
      const parts = await this.#parts(request);
      const held = await acquireAll(parts, request);
      if (isComplete(parts) || this.#withOwnHeaders.has(request.bucket)) return this.#permit(request, held);
      // While it waited, a response may have shown the policies.
      if (!isComplete(await this.#parts(request))) return this.#permit(request, held);
      for (const { permit } of held) permit.giveBack();
    }
  }

  /** The state of the tightest quota: the one with the fewest calls left. */
  async state(bucket: string, partition: string): Promise<BucketState> {
    const parts = await this.#parts({ bucket, partition });
    const states = await Promise.all(parts.map((part) => part.limiter.state(part.bucket)));
    return states.reduce((tightest, one) => ((one.left ?? Infinity) < (tightest.left ?? Infinity) ? one : tightest));
  }

  async #parts({ bucket, partition }: { bucket: string; partition: string }): Promise<Part[]> {
    const { limiter, limits, policies } = this.#options;
    const known = await policies.of(keyOf(bucket, partition));
    const fixed = (limits[bucket] ?? []).map((one) => this.#fixedPart(`${bucket}/${partition}`, one));
    const shown = known.map((policy) => this.#policyPart(bucket, policy));
    const parts = [...shown, ...fixed].toSorted((a, b) => b.periodMs - a.periodMs);
    return parts.length > 0 ? parts : [{ limiter, bucket: keyOf(bucket, partition), policy: undefined, periodMs: 0 }];
  }

  #fixedPart(bucket: string, { limit, periodMs }: FixedLimit, policy?: Policy): Part {
    const limiter = this.#options.limiterOf({ periodMs, fixedLimit: limit });
    return { limiter, bucket: `${bucket}/${limit}/${periodMs}`, policy, periodMs };
  }

  #policyPart(bucket: string, policy: Policy): Part {
    const { id, periodMs, isCounted } = policy;
    if (!isCounted) return this.#fixedPart(`${bucket}/${id}`, policy, policy);
    const limiter = this.#options.limiterOf({ periodMs, fixedLimit: undefined });
    return { limiter, bucket: `${bucket}/${id}/${periodMs}`, policy, periodMs };
  }

  #permit(request: PolicyRequest, held: readonly Held[]): PolicyPermit {
    let isOver = false;
    const once = (end: () => void) => (): void => {
      if (isOver) return;
      isOver = true;
      end();
    };
    const each = (end: (permit: TimedPermit) => void) => () => held.forEach(({ permit }) => end(permit));
    return {
      sending: each((permit) => permit.sending()),
      answered: (answer) => once(() => this.#answered(request, held, answer))(),
      lost: once(each((permit) => permit.lost())),
      giveBack: once(each((permit) => permit.giveBack())),
    };
  }

  #answered(request: PolicyRequest, held: readonly Held[], answer: PolicyAnswer): void {
    const { throttled, retryAfterMs } = answer;
    const readings = (answer.policies ?? []).map((reading) => this.#learn(request, reading));
    if (answer.reading !== undefined) this.#withOwnHeaders.add(request.bucket);
    const blamed = throttled ? spentParts(held, readings) : new Set<Part>();
    const unknown = readings.filter(({ part }) => !held.some((one) => one.part.bucket === part.bucket));
    for (const { part, permit } of held) {
      const reading = readings.find((one) => one.part.bucket === part.bucket)?.quota;
      const isBase = part.policy === undefined && part.limiter === this.#options.limiter;
      if (isBase && readings.length > 0) continue;
      permit.answered({
        reading: isBase ? answer.reading : reading,
        throttled: blamed.has(part),
        retryAfterMs: blamed.has(part) ? retryAfterMs : undefined,
      });
    }
    if (readings.some(({ isNew }) => isNew) || unknown.length > 0) void this.#publish(request, held, unknown);
  }

  /** Saves what a response has shown first; only then may others that wait on the bucket itself continue. */
  async #publish(request: PolicyRequest, held: readonly Held[], unknown: readonly Learned[]): Promise<void> {
    try {
      const times = held[0]?.permit.times();
      for (const { part, quota } of unknown) {
        if (times) await part.limiter.observe(part.bucket, { ...times, reading: quota });
      }
      await this.#options.policies.save(keyOf(request.bucket, request.partition));
    } catch (thrown) {
      this.#options.onError(thrown);
    }
    for (const { permit } of held) permit.giveBack(); // has no effect on those that were answered
  }

  #learn({ bucket, partition }: PolicyRequest, reading: PolicyReading): Learned {
    const { policy, isNew } = this.#options.policies.learn(keyOf(bucket, partition), reading);
    const { remaining, secondsBeforeRefresh } = reading;
    const seconds = Math.ceil(policy.periodMs / 1_000);
    const quota =
      remaining === undefined
        ? undefined
        : { limit: policy.limit, remaining, secondsBeforeRefresh: Math.min(secondsBeforeRefresh ?? seconds, seconds) };
    return { part: this.#policyPart(bucket, policy), quota, isNew };
  }
}

interface Learned {
  readonly part: Part;
  readonly quota: QuotaReading | undefined;
  readonly isNew: boolean;
}

/** Whether something is known, so that the permits cover a whole call. */
function isComplete(parts: readonly Part[]): boolean {
  return parts.some(({ policy, periodMs }) => policy !== undefined || periodMs > 0);
}

/** Takes a permit from each part, or none. */
async function acquireAll(parts: readonly Part[], { urgency, backlog, signal }: PolicyRequest): Promise<Held[]> {
  const held: Held[] = [];
  try {
    for (const part of parts) {
      held.push({ part, permit: await part.limiter.acquire({ bucket: part.bucket, urgency, backlog, signal }) });
    }
    return held;
  } catch (thrown) {
    for (const { permit } of held) permit.giveBack();
    throw thrown;
  }
}

/** Which quotas a 429 is about: those with nothing left, else the one with the shortest period. */
function spentParts(held: readonly Held[], readings: readonly Learned[]): ReadonlySet<Part> {
  const spent = held.filter(({ part }) =>
    readings.some((one) => one.part.bucket === part.bucket && one.quota?.remaining === 0),
  );
  const last = held.at(-1);
  return new Set((spent.length > 0 ? spent : last ? [last] : []).map(({ part }) => part));
}

/** A bucket without partitions has its own name, as the workers of simfleet know it. */
function keyOf(bucket: string, partition: string): string {
  return partition === "" ? bucket : `${bucket}/${partition}`;
}
