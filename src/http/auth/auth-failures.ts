/**
 * Counts invalid credentials by address: wrong tokens and forged signatures. After too many within a minute, the
 * address gets 429 for further invalid ones. A valid credential is always accepted: behind a proxy many clients share
 * an address, and none may lock out the others. This limits load and log noise, not guessing: our tokens have 256 bits,
 * and an operator's own admin token has at least 32 characters.
 */
import { SimfleetError } from "#core/errors.ts";
import { type Clock, minuteMs } from "#core/time.ts";

/** Addresses counted separately per minute; all others share one counter. */
const maxAddresses = 10_000;

export class AuthFailures {
  readonly #clock: Clock;
  readonly #maxPerMinute: number;
  readonly #counts = new Map<string, number>();
  #minute = 0;

  constructor(options: { clock: Clock; maxPerMinute: number }) {
    this.#clock = options.clock;
    this.#maxPerMinute = options.maxPerMinute;
  }

  /**
   * Counts a rejected request that carries a credential; one without is not a guess.
   * @param thrown what the check of the credential threw
   * @returns the error for the caller: the one thrown, or TOO_MANY_REQUESTS
   */
  refusal(thrown: unknown, { ip, authorization }: { ip: string; authorization: string | undefined }): unknown {
    const isGuess = thrown instanceof SimfleetError && thrown.code === "UNAUTHENTICATED" && authorization !== undefined;
    return isGuess ? this.count(ip, thrown) : thrown;
  }

  /**
   * Counts a failure.
   * @param refusal the error for the caller while the limit is not reached
   * @returns the rejection, or TOO_MANY_REQUESTS
   */
  count(ip: string, refusal: SimfleetError): SimfleetError {
    const nowMs = this.#clock.monotonicMs();
    const minute = Math.floor(nowMs / minuteMs);
    if (minute !== this.#minute) this.#counts.clear();
    this.#minute = minute;
    const wanted = networkOf(ip);
    const key = this.#counts.has(wanted) || this.#counts.size < maxAddresses ? wanted : "others";
    const failures = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, failures);
    if (failures <= this.#maxPerMinute) return refusal;
    return new SimfleetError(
      "TOO_MANY_REQUESTS",
      `Too many requests with invalid credentials from ${ip}: retry in a minute`,
      { retryAfterMs: (minute + 1) * minuteMs - nowMs },
    );
  }
}

/** The address; of IPv6 the /64, which one client has as a whole. */
function networkOf(ip: string): string {
  if (!ip.includes(":") || ip.includes(".")) return ip;
  const [head = "", tail] = ip.split("::", 2);
  const first = head === "" ? [] : head.split(":");
  const last = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length);
  return [...first, ...Array.from({ length: zeros }, () => "0"), ...last].slice(0, 4).join(":");
}
