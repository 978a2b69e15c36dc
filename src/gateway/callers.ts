/** Names the callers of the gateway for the log and the metrics. The number of names is limited, since callers choose them. */
import type { IncomingHttpHeaders } from "node:http";

const maxNames = 50;
const maxCharacters = 40;

export class Callers {
  readonly #names = new Set<string>();

  /** The name in `X-Simfleet-Caller`, else the product in the user agent; `other` for the 51st name and all later ones. */
  nameOf(headers: IncomingHttpHeaders): string {
    const given = [headers["x-simfleet-caller"]].flat()[0] ?? "";
    const product = /^[^\s/(]*/.exec(headers["user-agent"] ?? "")?.[0] ?? "";
    const name = clean(given) || clean(product) || "unknown";
    if (!this.#names.has(name) && this.#names.size >= maxNames) return "other";
    this.#names.add(name);
    return name;
  }
}

function clean(text: string): string {
  return text
    .trim()
    .slice(0, maxCharacters)
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^-+|-+$/g, "");
}
