/**
 * What is known of the callers: a name for each, one line for each call at `debug`, a summary per minute at `info`, and the
 * metrics. The number of names is limited, since callers choose them.
 */
import type { IncomingHttpHeaders } from "node:http";
import { gatewayCall } from "#core/timings.ts";
import { every, minuteMs } from "#core/time.ts";
import type { Logger } from "#telemetry/logger.ts";

const maxNames = 50;
const maxCharacters = 40;

export interface EndedCall {
  readonly caller: string;
  readonly method: string;
  /** Without the query, which may hold data of customers. */
  readonly path: string;
  /** `gone`: the caller disconnected before the response. */
  readonly status: number | "gone";
  readonly ms: number;
}

export class Callers {
  readonly #logger: Logger;
  readonly #stop: () => void;
  readonly #names = new Set<string>();
  #counts = new Map<string, number>();

  constructor(logger: Logger) {
    this.#logger = logger;
    this.#stop = every(minuteMs, () => this.#summarize());
  }

  /** The name in `X-Simfleet-Caller`, else the product in the user agent; `other` for the 51st name and all later ones. */
  nameOf(headers: IncomingHttpHeaders): string {
    const given = [headers["x-simfleet-caller"]].flat()[0] ?? "";
    const product = /^[^\s/(]*/.exec(headers["user-agent"] ?? "")?.[0] ?? "";
    const name = clean(given) || clean(product) || "unknown";
    if (!this.#names.has(name) && this.#names.size >= maxNames) return "other";
    this.#names.add(name);
    return name;
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

function clean(text: string): string {
  return text
    .trim()
    .slice(0, maxCharacters)
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^-+|-+$/g, "");
}
