/**
 * What the gateway answers itself, beside the paths of the platform, which all begin with a version: its health, and in a
 * process of its own its metrics.
 */
import type { ServerResponse } from "node:http";
import { version } from "#core/version.ts";

export interface Monitoring {
  /** Whether Redis answers. */
  readonly isReady: () => Promise<boolean>;
  /** The text for Prometheus; absent where the worker has them at its own `/metrics`. */
  readonly metrics?: (() => Promise<{ readonly contentType: string; readonly text: string }>) | undefined;
}

/** Which of these a request asks for; undefined if it is for the platform. */
export function ownPathOf(method: string, url: string, monitoring: Monitoring): "health" | "metrics" | undefined {
  if (method !== "GET") return undefined;
  if (url === "/healthz" || url === "/readyz") return "health";
  return url === "/metrics" && monitoring.metrics !== undefined ? "metrics" : undefined;
}

/** Answers `/healthz`: the process runs; `/readyz`: Redis answers as well. */
export async function answerHealth(url: string, response: ServerResponse, { isReady }: Monitoring): Promise<void> {
  const isFine = url === "/healthz" || (await isReady().catch(() => false));
  send(response, isFine ? 200 : 503, {
    contentType: "application/json; charset=utf-8",
    text: JSON.stringify({ status: isFine ? "ok" : "unavailable", version }),
  });
}

export async function answerMetrics(response: ServerResponse, { metrics }: Monitoring): Promise<void> {
  if (metrics !== undefined) send(response, 200, await metrics());
}

function send(response: ServerResponse, status: number, { contentType, text }: { contentType: string; text: string }) {
  response.writeHead(status, { "content-type": contentType, "cache-control": "no-store" }).end(text);
}
