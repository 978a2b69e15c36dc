/**
 * One permit and its outcome. The permit is settled when the response headers arrive, not the body: the quota headers
 * age from that instant, and a response whose body is lost still spent its call.
 * States: granted -> sent -> answered | lost, or granted -> given back.
 */
import type { Clock } from "#core/time.ts";
import type { Permit } from "#limiter/permit.ts";
import type { ClientEvent } from "../client-options.ts";
import { type AnswerHeaders, type HeaderNames, headerOf, readQuota, readRetryAfterMs } from "./headers.ts";

export interface Around {
  readonly clock: Clock;
  readonly names: HeaderNames;
  readonly periodMs: number;
  readonly emit: (event: ClientEvent) => void;
}

export class Attempt {
  readonly #permit: Permit;
  readonly #around: Around;
  readonly #call: { readonly operation: string; readonly bucket: string };
  #state: "granted" | "sent" | "over" = "granted";
  #sentAtMs = 0;
  /** Delay requested by the Retry-After header of the response. */
  retryAfterMs: number | undefined;
  /** For a 429: how long the bucket stays empty. */
  rateLimitedMs = 0;

  constructor(permit: Permit, around: Around, call: { operation: string; bucket: string }) {
    this.#permit = permit;
    this.#around = around;
    this.#call = call;
  }

  get bucket(): string {
    return this.#call.bucket;
  }

  sending(): void {
    this.#state = "sent";
    this.#sentAtMs = this.#around.clock.monotonicMs();
    this.#permit.sending();
  }

  head(status: number, headers: AnswerHeaders): void {
    if (this.#state === "granted") this.sending();
    this.#state = "over";
    const { clock, periodMs, emit } = this.#around;
    const reading = readQuota(headers, this.#around);
    const throttled = status === 429;
    if (headers["retry-after"] !== undefined) this.retryAfterMs = readRetryAfterMs(headers, clock.wallMs());
    this.#permit.answered({ reading, throttled, retryAfterMs: this.retryAfterMs });
    const clockAheadMs = Date.parse(headerOf(headers, "date") ?? "") - clock.wallMs();
    emit({ type: "answered", ...this.#call, status, durationMs: clock.monotonicMs() - this.#sentAtMs, clockAheadMs });
    if (!throttled) return;
    const refreshMs = reading === undefined ? periodMs : Math.max(1, reading.secondsBeforeRefresh) * 1_000;
    this.rateLimitedMs = Math.max(refreshMs, this.retryAfterMs ?? 0);
    emit({ type: "throttled", ...this.#call, retryAfterMs: this.rateLimitedMs });
  }

  /** No response will arrive; settles the permit unless the response headers already did. */
  failed(): void {
    if (this.#state === "over") return;
    const wasSent = this.#state === "sent";
    this.#state = "over";
    if (wasSent) this.#permit.lost();
    else this.#permit.giveBack();
  }
}
