/**
 * Limits what unknown clients can hold open. A client is known once a request on its connection had a valid credential.
 * Unknown clients share a limited number of connections; a new one closes the oldest, so that a flood of connections
 * does not block valid clients. Headers and bodies of unknown clients have deadlines. It does not count requests:
 * control-api.ts does.
 */
import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Clock, secondMs } from "#core/time.ts";

/** Connections of unknown clients. */
const mostUnknown = 512;
/** From the opening of a connection, or the first byte of a further request, to the end of its headers. */
export const headersMs = 10 * secondMs;
/** How often connections are checked for late ones. */
export const connectionCheckMs = 2 * secondMs;
/** From the headers to the end of a body of an unknown client. */
const unknownBodyMs = 10 * secondMs;
/** After the answer, the rest of a body is discarded for this long, so that the client can read the answer. */
const lingerMs = 2 * secondMs;

const overInTime = (): void => undefined;

export class ConnectionLimits {
  readonly #clock: Clock;
  readonly #unknown = new Set<Socket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param most connections at once; further ones are refused */
  watch(server: Server, most: number): void {
    server.maxConnections = most;
    server.on("connection", (socket: Socket) => {
      this.#unknown.add(socket);
      socket.once("close", () => this.#unknown.delete(socket));
      const [oldest] = this.#unknown;
      if (oldest === undefined || this.#unknown.size <= mostUnknown) return;
      this.#unknown.delete(oldest); // it says only later that it is closed
      oldest.destroy();
    });
  }

  /** Marks the client of a request as known. */
  isKnown({ raw: { socket } }: FastifyRequest): void {
    this.#unknown.delete(socket);
  }

  /** Must be called before the guard is added, so that requests refused by the guard are limited as well. */
  boundBodies(server: FastifyInstance): void {
    server.addHook("onRequest", (request, reply, done) => {
      const { raw } = request;
      const ended = new AbortController();
      raw.once("close", () => ended.abort());
      const cutOffAfter = async (ms: number, isMeant: () => boolean): Promise<void> => {
        await this.#clock.sleep(ms, ended.signal);
        if (!raw.complete && isMeant()) raw.socket.destroy();
      };
      cutOffAfter(unknownBodyMs, () => this.#unknown.has(raw.socket)).catch(overInTime);
      reply.raw.once("finish", () => {
        if (!raw.complete) cutOffAfter(lingerMs, () => true).catch(overInTime);
      });
      done();
    });
  }
}
