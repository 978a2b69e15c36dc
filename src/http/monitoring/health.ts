/**
 * The worker's health. `/healthz` reports whether work makes progress, not just whether the process runs: a worker can
 * be connected and still be stuck after an outage of Redis. `/readyz` reports whether it accepts work.
 */
import type { FastifyInstance } from "fastify";
import { SimfleetError } from "#core/errors.ts";

/** What the health of a process is read from. */
export interface Health {
  /** Whether work is progressing; false if work waits and none was started for a while. */
  isMoving(): Promise<boolean>;
  /** Whether Redis accepts writes and the consumers run. @throws SimfleetError with the reason why not */
  isReady(): Promise<boolean>;
}

export function addHealth(server: FastifyInstance, health: Health, version: string): void {
  const route = (path: string, isGood: () => Promise<boolean>): void => {
    server.get(path, { config: { role: "open" } }, async (_request, reply) => {
      let reason: string | undefined;
      const isFine = await isGood().catch((thrown: unknown) => {
        if (thrown instanceof SimfleetError) reason = thrown.message;
        return false;
      });
      return reply
        .code(isFine ? 200 : 503)
        .header("cache-control", "no-store")
        .send({ status: isFine ? "ok" : "unavailable", reason, version });
    });
  };
  route("/healthz", () => health.isMoving());
  route("/readyz", () => health.isReady());
}
