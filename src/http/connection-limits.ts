/**
 * What a client can hold open. A client is known once a request on its connection had a credential that holds; of the
 * others there may be so many connections, and the oldest makes room for the next, so that whoever opens them in bulk keeps
 * nobody out. What such a client sends has to come in time, and a body that nobody reads any more is not waited for.
 */
import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Clock, secondMs } from "#core/time.ts";

/** Connections of clients that are not known. */
const mostUnknown = 512;
/** From the opening of a connection, or the first byte of a further request, to the end of its headers. */
export const headersMs = 10 * secondMs;
/** How often connections are checked for late ones. */
export const connectionCheckMs = 2 * secondMs;
/** From the headers to the end of a body of a client that is not known. */
const unknownBodyMs = 10 * secondMs;
/** What is left of a body after the answer was sent is thrown away for so long, so that the client can read the answer. */
const lingerMs = 2 * secondMs;

const overInTime = (): void => undefined;

export class ConnectionLimits {
  readonly #clock: Clock;
  readonly #unknown = new Set<Socket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param most connections at once; more are refused as they come */
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

  /** The client of a request has shown who it is. */
  isKnown({ raw: { socket } }: FastifyRequest): void {
    this.#unknown.delete(socket);
  }

  /** Has to be called before the guard is added: requests that it refuses are bounded as well. */
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
