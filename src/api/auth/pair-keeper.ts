/**
 * Holds the key and token pair of one profile, in memory only (interface, section 5). However many calls need a pair,
 * only one authentication or renewal is in progress at a time.
 *
 * States: none -> valid (authenticated) -> due (some margin before expiry: renewed in the background while calls
 * continue with the old pair; on failure the old pair stays) -> ended (calls wait). A due pair gets a new token if the
 * platform definition has an operation for it; if it has none, or the operation is rejected, an authentication replaces
 * the pair. A 401 moves valid -> none, once per pair: a late 401 for an older pair changes nothing. A rejection of the
 * credentials is cached for a while, since authentication is limited per address.
 */
import { randomInt } from "node:crypto";
import { backoffMs } from "#core/backoff.ts";
import { PlatformError, messageOf } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import type { ClientEvent, RenewalReason } from "../client-options.ts";
import { type Pair, type PairSource, forget } from "./pair.ts";

/** How long a rejection of the credentials is cached. */
const refusalMs = 30_000;
/**
 * How many fresh pairs in a row may be rejected before the credentials are blamed: two if none was ever accepted, more
 * afterward, since pairs that are revoked one after the other can affect several calls before any succeeds.
 */
const rejectedInARow = { fromTheStart: 2, afterSuccess: 4 };
/** Minimum pause between two failed early renewals. */
const earlyPauseMs = 1_000;

const unavailablePolicy = { baseMs: 100, capMs: 5_000 };

interface Fresh {
  readonly pair: Pair;
  readonly by: "auth" | "token";
}

export class PairKeeper {
  readonly #clock: Clock;
  readonly #source: Pick<PairSource, "authenticate" | "renew">;
  readonly #emit: (event: ClientEvent) => void;
  readonly #chance: () => number;
  #current: Pair | undefined;
  #renewAtMs = 0;
  #isProven = false;
  #nextReason: RenewalReason = "first";
  #wasEverProven = false;
  #rejectedInARow = 0;
  #obtainedAtMs = 0;
  #retired: Pair | undefined;
  #flight: Promise<Pair> | undefined;
  #failure: { readonly error: unknown; readonly untilMs: number } | undefined;
  #failures = 0;
  /** Incremented when the credentials are replaced; a pair and an authentication in flight belong to one version. */
  #credentialsVersion = 0;
  #flightVersion = 0;
  #currentVersion = 0;

  constructor(deps: {
    clock: Clock;
    source: Pick<PairSource, "authenticate" | "renew">;
    emit: (event: ClientEvent) => void;
    /** Spreads early renewals: numbers in [0, 1). */
    chance?: (() => number) | undefined;
  }) {
    this.#clock = deps.clock;
    this.#source = deps.source;
    this.#emit = deps.emit;
    this.#chance = deps.chance ?? (() => randomInt(1_000_000) / 1_000_000);
  }

  /** The current pair, valid or not; has no side effects. */
  get held(): Pair | undefined {
    return this.#current;
  }

  /** The pair, if it is valid; starts an early renewal when it is due. */
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
   * Returns the pair, waiting for an authentication if none is valid.
   * @throws whatever the authentication threw, possibly cached; the signal's reason if it aborts
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

  /** Records that the platform accepted this pair, so that a later 401 means it has expired or was revoked. */
  accepted(pair: Pair): void {
    if (pair !== this.#current || this.#isProven) return;
    this.#isProven = true;
    this.#wasEverProven = true;
    this.#rejectedInARow = 0;
  }

  /**
   * Records that the platform responded to this pair with 401.
   * @returns whether to retry with another pair; false if several fresh pairs in a row were rejected without ever
   *   being accepted, so that a platform that responds to everything with 401 does not cause endless authentications
   */
  invalidate(pair: Pair): boolean {
    if (pair !== this.#current) return true;
    if (!this.#isProven) {
      const maxRejected = this.#wasEverProven ? rejectedInARow.afterSuccess : rejectedInARow.fromTheStart;
      const isYoung = this.#clock.monotonicMs() - this.#obtainedAtMs < refusalMs;
      if (this.#rejectedInARow < maxRejected) this.#rejectedInARow += 1;
      if (this.#rejectedInARow >= maxRejected && isYoung) return false;
    }
    this.#retire("rejected");
    return true;
  }

  /**
   * Authenticates immediately in the background; calls continue with the current pair until the new one arrives.
   * @throws whatever the authentication threw, and the current pair stays; the signal's reason if it aborts
   */
  async renewNow(signal?: AbortSignal): Promise<Pair> {
    signal?.throwIfAborted();
    // The credentials may have been replaced: the cached rejection of the old ones does not count.
    this.#rejectedInARow = 0;
    this.#failure = undefined;
    this.#renewAtMs = 0;
    this.#credentialsVersion += 1;
    const version = this.#credentialsVersion;
    while (true) {
      if (this.#current !== undefined && this.#currentVersion >= version) return this.#current;
      if (this.#flight === undefined) return unlessAborted(this.#renew("asked"), signal);
      if (this.#flightVersion >= version) return unlessAborted(this.#flight, signal);
      // It may have read the credentials before they changed.
      const settled = this.#flight.catch(() => undefined);
      await unlessAborted(settled, signal);
    }
  }

  /** Drops the pair and unregisters its values from the scrubber. */
  close(): void {
    this.#retire("first");
    forget(this.#retired);
    this.#retired = undefined;
  }

  #renew(reason: RenewalReason): Promise<Pair> {
    const version = this.#credentialsVersion;
    const isOfPresentCredentials = this.#currentVersion === version;
    const base = reason === "early" && isOfPresentCredentials ? this.#current : undefined;
    const flight = this.#fresh(base).then(
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

  /** Obtains the base with a new token, or else a new pair. @param base absent if only an authentication will do */
  async #fresh(base: Pair | undefined): Promise<Fresh> {
    const renewed = base && this.#source.renew ? await this.#source.renew(base) : undefined;
    // If a 401 has retired the base meanwhile, its successor would be rejected too.
    if (renewed !== undefined && base === this.#current) return { pair: renewed, by: "token" };
    forget(renewed);
    return { pair: await this.#source.authenticate(), by: "auth" };
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

  /** Calls in flight still carry the retired pair: its values stay with the scrubber for one more generation. */
  #retire(nextReason: RenewalReason): void {
    if (this.#current === undefined) return;
    forget(this.#retired);
    this.#retired = this.#current;
    this.#current = undefined;
    this.#nextReason = nextReason;
  }
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

/**
 * How long before its expiry a pair is renewed: a tenth of the lifetime, within 10 s and 5 min, plus a random share of
 * up to another tenth, at most an hour, so that workers that started together do not renew together.
 * @param chance in [0, 1)
 */
export function marginMs(pairMs: number, chance: number): number {
  const plainMs = Math.min(Math.max(pairMs / 10, 10_000), 300_000, pairMs / 2);
  return plainMs + Math.min(pairMs / 10, 3_600_000) * chance;
}

/** How long to wait before the next authentication; `failures` counts those in a row. */
function pauseAfterMs(error: unknown, failures: number): number {
  if (!(error instanceof PlatformError)) return 0;
  if (error.disposition === "never") return refusalMs;
  return error.code === "PLATFORM_RATE_LIMITED" ? (error.retryAfterMs ?? 0) : backoffMs(unavailablePolicy, failures);
}

/** The limiter tracks an exhausted quota, and an unreachable store has its own backoff. */
function isRemembered(error: unknown): boolean {
  return error instanceof PlatformError && error.code !== "PLATFORM_RATE_LIMITED";
}
