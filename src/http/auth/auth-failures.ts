/**
 * Counts, by address, credentials that did not hold: wrong tokens and forged signatures. Beyond a number of them within a
 * minute an address is told to wait. A credential that holds is taken all the same: behind a proxy many clients share
 * an address, and none of them may lock the others out. Guessing is no way in: our tokens have 256 bits, and an admin
 * token of one's own has at least 32 characters.
 */
import { SimfleetError } from "#core/errors.ts";
import { type Clock, minuteMs } from "#core/time.ts";

/** Of so many addresses a minute failures are counted one by one; all others count together. */
const mostAddresses = 10_000;

export class AuthFailures {
  readonly #clock: Clock;
  readonly #mostPerMinute: number;
  readonly #counts = new Map<string, number>();
  #minute = 0;

  constructor(options: { clock: Clock; mostPerMinute: number }) {
    this.#clock = options.clock;
    this.#mostPerMinute = options.mostPerMinute;
  }

  /**
   * Counts a failure.
   * @param refusal the error for the caller as long as there were not too many
   * @returns the refusal, or TOO_MANY_REQUESTS
   */
  count(ip: string, refusal: SimfleetError): SimfleetError {
    const nowMs = this.#clock.monotonicMs();
    const minute = Math.floor(nowMs / minuteMs);
    if (minute !== this.#minute) this.#counts.clear();
    this.#minute = minute;
    const wanted = networkOf(ip);
    const key = this.#counts.has(wanted) || this.#counts.size < mostAddresses ? wanted : "others";
    const failures = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, failures);
    if (failures <= this.#mostPerMinute) return refusal;
    return new SimfleetError(
      "TOO_MANY_REQUESTS",
      `Too many requests with wrong credentials from ${ip}: try again in a minute`,
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
