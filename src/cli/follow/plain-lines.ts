/**
 * Progress without a terminal: a line at every change of topic (a state, a problem), otherwise one every few seconds if it
 * has changed, and at least one every 15 s.
 */
import type { Output } from "../output.ts";

const silenceMs = 15_000;

export class PlainLines {
  readonly #output: Output;
  readonly #everyMs: number;
  #lastMs = Number.NEGATIVE_INFINITY;
  #lastLine = "";
  #lastTopic = "";

  /** @param everyMs least time between two lines of one topic */
  constructor(output: Output, everyMs: number) {
    this.#output = output;
    this.#everyMs = everyMs;
  }

  /** @param how `nowMs` is monotonic */
  show(line: string, { topic, nowMs }: { readonly topic: string; readonly nowMs: number }): void {
    const sinceMs = nowMs - this.#lastMs;
    const isNew = line !== this.#lastLine && sinceMs >= this.#everyMs;
    if (topic === this.#lastTopic && !isNew && sinceMs < silenceMs) return;
    this.#lastMs = nowMs;
    this.#lastLine = line;
    this.#lastTopic = topic;
    this.#output.say(line);
  }
}
