/**
 * The control API as an operator's script uses it while things break: a request is repeated with the same idempotency
 * key, to any worker, until one answers.
 */
import { secrets, type Station } from "./stage/stage.ts";
import { nowMs, sleep } from "./time.ts";

export interface ControlRequest {
  readonly method?: "GET" | "POST";
  readonly path: string;
  readonly key?: string;
  readonly csv?: string;
  /** When to give up, ms. */
  readonly deadlineMs?: number;
}

const answerMs = 10_000;

/** Answers that called a problem of the environment a bug of simfleet. */
export const internalAnswers: string[] = [];

/** @throws Error with the last response: a rejection that a repetition cannot change, or when the time is over */
export async function ask(stations: readonly Station[], request: ControlRequest): Promise<string> {
  const { method = "GET", path, key, csv, deadlineMs = 90_000 } = request;
  const endMs = nowMs() + deadlineMs;
  let last = "no answer";
  for (let turn = 0; ; turn += 1) {
    const station = stations[turn % stations.length];
    try {
      const response = await fetch(`${station?.api}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${secrets.adminToken}`,
          connection: "close",
          ...(key === undefined ? {} : { "idempotency-key": key }),
          ...(csv === undefined ? {} : { "content-type": "text/csv" }),
        },
        ...(csv === undefined ? {} : { body: csv }),
        signal: AbortSignal.timeout(answerMs),
      });
      const text = await response.text();
      if (response.ok) return text;
      last = `${response.status} ${text}`;
      if (text.includes('"INTERNAL"')) internalAnswers.push(`${method} ${path}: ${last}`);
      const isFinal = response.status < 500 && response.status !== 429;
      if (isFinal) throw new Refused(`${method} ${path}: ${last}`);
    } catch (thrown) {
      if (thrown instanceof Refused) throw thrown;
      if (!last.startsWith("5") && !last.startsWith("4")) last = String(thrown);
    }
    if (nowMs() > endMs) throw new Error(`${method} ${path} had no success within ${deadlineMs} ms: ${last}`);
    await sleep(100);
  }
}

class Refused extends Error {}

export async function askJson<T>(stations: readonly Station[], request: ControlRequest): Promise<T> {
  return JSON.parse(await ask(stations, request)) as T;
}
