/**
 * Writes down every request that changes something, and every one that would have and was refused: who, what, about what,
 * and how it ended. Never a body, a header or a query. Refusals of nobody in particular are bounded, so that whoever has
 * no token cannot fill the record.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { messageOf } from "#core/errors.ts";
import { type Clock, minuteMs } from "#core/time.ts";
import type { ControlHouse } from "./house.ts";
import { actorOf } from "./principal.ts";

/** Of callers who are not known, in a minute. */
const mostStrangers = 60;

export function addAudit(server: FastifyInstance, { app, clock, logger }: ControlHouse): void {
  const strangers = new Strangers(clock);
  server.addHook("onResponse", async (request, reply) => {
    const { config, url } = request.routeOptions;
    const isReading = request.method === "GET" || request.method === "HEAD";
    if (isReading || url === undefined || (config.role === "open" && !url.startsWith("/v1/"))) return;
    if (request.principal === undefined && !strangers.mayBeNoted()) return;
    await app.control.audit.note(recordOf(request, reply)).catch((thrown: unknown) => {
      logger.error({ requestId: request.id }, `a change could not be written down: ${messageOf(thrown)}`);
    });
  });
}

function recordOf(
  request: FastifyRequest,
  reply: FastifyReply,
): Parameters<ControlHouse["app"]["control"]["audit"]["note"]>[0] {
  const { principal, params, method, routeOptions, id: requestId, ip: from } = request;
  const made = reply.getHeader("location");
  const named = Object.values((params ?? {}) as Readonly<Record<string, string>>).join("/");
  return {
    who: principal === undefined ? "" : actorOf(principal),
    role: principal?.role ?? "",
    action: `${method} ${routeOptions.url ?? ""}`,
    target: typeof made === "string" ? made.slice(made.lastIndexOf("/") + 1) : named.slice(0, 200),
    status: String(reply.statusCode),
    ...{ requestId, from },
  };
}

class Strangers {
  readonly #clock: Clock;
  #minute = 0;
  #noted = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  mayBeNoted(): boolean {
    const minute = Math.floor(this.#clock.monotonicMs() / minuteMs);
    if (minute !== this.#minute) [this.#minute, this.#noted] = [minute, 0];
    this.#noted += 1;
    return this.#noted <= mostStrangers;
  }
}
