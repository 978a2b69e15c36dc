/** What is known of the calls afterwards: one line for each at `debug`, a summary per minute at `info`, and the metrics. */
import { gatewayCall, gatewayWait, type Timing } from "#core/timings.ts";
import { every, minuteMs } from "#core/time.ts";
import type { Logger } from "#telemetry/logger.ts";

export interface EndedCall {
  readonly caller: string;
  readonly method: string;
  /** Without the query, which may hold data of customers. */
  readonly path: string;
  /** `gone`: the caller disconnected before the answer. */
  readonly status: number | "gone";
  readonly ms: number;
}

export class CallLog {
  readonly #logger: Logger;
  readonly #stop: () => void;
  #counts = new Map<string, number>();

  constructor(logger: Logger) {
    this.#logger = logger;
    this.#stop = every(minuteMs, () => this.#summarize());
  }

  /** @param waitedMs from the body that was read ahead to the sending of the call */
  sent(caller: string, waitedMs: number): void {
    gatewayWait.publish({ seconds: waitedMs / 1_000, labels: { caller } } satisfies Timing);
  }

  ended(call: EndedCall): void {
    const { caller, status } = call;
    this.#counts.set(caller, (this.#counts.get(caller) ?? 0) + 1);
    gatewayCall.publish({ caller, status: String(status) });
    this.#logger.debug(call, "a call through the gateway ended");
  }

  close(): void {
    this.#stop();
    this.#summarize();
  }

  #summarize(): void {
    if (this.#counts.size === 0) return;
    this.#logger.info({ calls: Object.fromEntries(this.#counts) }, "calls through the gateway, by caller");
    this.#counts = new Map();
  }
}
