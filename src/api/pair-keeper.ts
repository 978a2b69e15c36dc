/**
 * Keeps the key and token pair of one profile, in memory alone (interface, section 5). However many calls need a pair,
 * one authentication or renewal is under way at a time.
 *
 * Moves: none -> valid (authenticated) -> due (margin before the end: renewed behind the calls, which go on with the old
 * pair; a failure keeps it) -> ended (calls wait). A pair that is due gets a new token where the deployment has an
 * operation for that, and is replaced by an authentication where it has none or refuses. A 401 moves valid -> none, once per pair: a late 401 of an older pair
 * changes nothing. A refusal of the credentials is remembered for a while, since authentication is limited per address.
 */
import { messageOf } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import type { ClientEvent, RenewalReason } from "./client-event.ts";
import { forget, freshPair, type Fresh, type Pair, type PairSource } from "./pair.ts";
import {
  anyChance,
  earlyPauseMs,
  isRemembered,
  marginMs,
  pauseAfterMs,
  refusalMs,
  refusedInARow,
} from "./renewal-timing.ts";

export class PairKeeper {
  readonly #clock: Clock;
  readonly #source: PairSource;
  readonly #emit: (event: ClientEvent) => void;
  readonly #chance: () => number;
  #current: Pair | undefined;
  #renewAtMs = 0;
  #isProven = false;
  #nextReason: RenewalReason = "first";
  #wasEverProven = false;
  #refusedInARow = 0;
  #obtainedAtMs = 0;
  #retired: Pair | undefined;
  #flight: Promise<Pair> | undefined;
  #failure: { readonly error: unknown; readonly untilMs: number } | undefined;
  #failures = 0;
  /** Counts the wishes for an authentication with other credentials; a pair and a flight are of one of them. */
  #credentialsVersion = 0;
  #flightVersion = 0;
  #currentVersion = 0;

  constructor(deps: {
    clock: Clock;
    source: PairSource;
    emit: (event: ClientEvent) => void;
    /** Spreads early renewals: numbers in [0, 1). */
    chance?: (() => number) | undefined;
  }) {
    this.#clock = deps.clock;
    this.#source = deps.source;
    this.#emit = deps.emit;
    this.#chance = deps.chance ?? anyChance;
  }

  /** The pair, valid or not, as it is; starts nothing. */
  get held(): Pair | undefined {
    return this.#current;
  }

  /** The pair, where one is valid; starts an early renewal when it is due. */
  ready(): Pair | undefined {
    if (this.#current === undefined) return undefined;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs >= this.#current.endsAtMs) {
      this.#retire("expired");
      return undefined;
    }
    if (nowMs >= this.#renewAtMs && this.#flight === undefined && nowMs >= (this.#failure?.untilMs ?? 0)) {
      this.#renew("early").catch(() => undefined);
    }
    return this.#current;
  }

  /**
   * The pair, waiting for an authentication where none is valid.
   * @throws what the authentication threw, also from a short memory of it; the signal's reason when it aborts
   */
  async obtain(signal?: AbortSignal): Promise<Pair> {
    signal?.throwIfAborted();
    const pair = this.ready();
    if (pair !== undefined) return pair;
    if (this.#flight === undefined && this.#failure !== undefined && isRemembered(this.#failure.error)) {
      if (this.#clock.monotonicMs() < this.#failure.untilMs) throw this.#failure.error;
    }
    return unlessAborted(this.#flight ?? this.#renew(this.#nextReason), signal);
  }

  /** Notes that the platform took this pair, so that a later 401 means that its time is over. */
  accepted(pair: Pair): void {
    if (pair !== this.#current || this.#isProven) return;
    this.#isProven = true;
    this.#wasEverProven = true;
    this.#refusedInARow = 0;
  }

  /**
   * Says that the platform answered 401 to this pair.
   * @returns whether it is worth asking again with another pair; false when fresh pairs were refused in a row, none of
   *   them ever taken, so that a platform that answers 401 to everything is not asked for pairs without end
   */
  invalidate(pair: Pair): boolean {
    if (pair !== this.#current) return true;
    if (!this.#isProven) {
      const most = this.#wasEverProven ? refusedInARow.afterSuccess : refusedInARow.fromTheStart;
      const isYoung = this.#clock.monotonicMs() - this.#obtainedAtMs < refusalMs;
      if (this.#refusedInARow < most) this.#refusedInARow += 1;
      if (this.#refusedInARow >= most && isYoung) return false;
    }
    this.#retire("refused");
    return true;
  }

  /** New credentials are in place: forgets their predecessors' refusal and renews soon; calls go on meanwhile. */
  renewSoon(): void {
    this.#credentialsVersion += 1;
    this.#refusedInARow = 0;
    this.#failure = undefined;
    this.#renewAtMs = 0;
  }

  /**
   * Authenticates at once, behind the calls, which go on with the present pair until the new one is there.
   * @throws what the authentication threw, and the present pair stays; the signal's reason when it aborts
   */
  async renewNow(signal?: AbortSignal): Promise<Pair> {
    signal?.throwIfAborted();
    this.renewSoon();
    const version = this.#credentialsVersion;
    while (true) {
      if (this.#current !== undefined && this.#currentVersion >= version) return this.#current;
      if (this.#flight === undefined) return unlessAborted(this.#renew("asked"), signal);
      if (this.#flightVersion >= version) return unlessAborted(this.#flight, signal);
      // It may have read the credentials before they changed.
      await unlessAborted(settled(this.#flight), signal);
    }
  }

  /** Drops the pair and ends the watch over its values. */
  close(): void {
    this.#retire("first");
    forget(this.#retired);
    this.#retired = undefined;
  }

  #renew(reason: RenewalReason): Promise<Pair> {
    const version = this.#credentialsVersion;
    const isOfPresentCredentials = this.#currentVersion === version;
    const base = reason === "early" && isOfPresentCredentials ? this.#current : undefined;
    const flight = freshPair(this.#source, { base, isStillGood: () => base === this.#current }).then(
      (fresh) => {
        this.#flight = undefined;
        this.#install(fresh, reason, version);
        return fresh.pair;
      },
      (thrown: unknown) => {
        this.#flight = undefined;
        if (version === this.#credentialsVersion) this.#remember(thrown);
        this.#emit({ type: "renewal-failed", reason, message: messageOf(thrown) });
        throw thrown;
      },
    );
    this.#flight = flight;
    this.#flightVersion = version;
    return flight;
  }

  #install({ pair, by }: Fresh, reason: RenewalReason, version: number): void {
    if (this.#current !== undefined) this.#retire("expired");
    const nowMs = this.#clock.monotonicMs();
    this.#current = pair;
    this.#currentVersion = version;
    this.#isProven = false;
    this.#obtainedAtMs = nowMs;
    const leftMs = pair.endsAtMs - nowMs;
    const isOfPresentCredentials = version === this.#credentialsVersion;
    this.#renewAtMs = isOfPresentCredentials ? pair.endsAtMs - marginMs(leftMs, this.#chance()) : 0;
    this.#failure = undefined;
    this.#failures = 0;
    const { madeWith, expiresAtMs } = pair;
    const authKey = madeWith.kind === "auth-key" ? { authKeyId: madeWith.authKeyId } : {};
    this.#emit({ type: "renewed", reason, by, expiresAtMs, ...authKey });
  }

  #remember(error: unknown): void {
    this.#failures += 1;
    const nowMs = this.#clock.monotonicMs();
    const pauseMs = pauseAfterMs(error, this.#failures);
    this.#failure = {
      error,
      untilMs: nowMs + (this.#current === undefined ? pauseMs : Math.max(earlyPauseMs, pauseMs)),
    };
  }

  /** Calls in flight still carry the pair that goes, so its values stay known to the scrubber for one more generation. */
  #retire(nextReason: RenewalReason): void {
    if (this.#current === undefined) return;
    forget(this.#retired);
    this.#retired = this.#current;
    this.#current = undefined;
    this.#nextReason = nextReason;
  }
}

function settled(promise: Promise<unknown>): Promise<void> {
  return promise.then(
    () => undefined,
    () => undefined,
  );
}

async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
