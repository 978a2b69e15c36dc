/**
 * Limits what clients can hold open. A client is known once a request on its connection had a valid credential. Unknown
 * clients share a limited number of connections; a new one closes the oldest, so that a flood of connections does not
 * block valid clients. Known clients have a number of their own, so that they never keep anybody from asking for
 * health. Headers and bodies of unknown clients have deadlines. It does not count requests: control-api.ts does. Also
 * tells when a client has gone.
 */
import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import { SimfleetError } from "#core/errors.ts";
import { type Clock, secondMs } from "#core/time.ts";

/** Connections of unknown clients. */
const maxUnknown = 512;
/** From the opening of a connection, or the first byte of a further request, to the end of its headers. */
export const headersMs = 10 * secondMs;
/** How often connections are checked for late ones. */
export const connectionCheckMs = 2 * secondMs;
/** From the headers to the end of a body of an unknown client. */
const unknownBodyMs = 10 * secondMs;
/** After the response, the rest of a body is discarded for this long, so that the client can read the response. */
const lingerMs = 2 * secondMs;

const overInTime = (): void => undefined;

export type ConnectionLimits = ReturnType<typeof connectionLimits>;

/** @param options `maxKnown`: connections of known clients at once */
export function connectionLimits({ clock, maxKnown }: { clock: Clock; maxKnown: number }) {
  const unknown = new Set<Socket>();
  const known = new Set<Socket>();
  return {
    watch(server: Server): void {
      server.on("connection", (socket: Socket) => {
        unknown.add(socket);
        socket.once("close", () => unknown.delete(socket) || known.delete(socket));
        const [oldest] = unknown;
        if (oldest === undefined || unknown.size <= maxUnknown) return;
        unknown.delete(oldest); // it says only later that it is closed
        oldest.destroy();
      });
    },

    /** Marks a client as known. @throws SimfleetError OVERLOADED if there are too many; close its connection then */
    markKnown(socket: Socket): void {
      if (!unknown.has(socket)) return;
      if (known.size >= maxKnown) {
        throw new SimfleetError("OVERLOADED", `There are ${maxKnown} connections already: try again later`);
      }
      unknown.delete(socket);
      known.add(socket);
    },

    /** Must be called before the guard is added, so that requests rejected by the guard are limited as well. */
    boundBodies(server: FastifyInstance): void {
      server.addHook("onRequest", (request, reply, done) => {
        const { raw } = request;
        const ended = new AbortController();
        raw.once("close", () => ended.abort());
        const cutOffAfter = async (ms: number, isMeant: () => boolean): Promise<void> => {
          await clock.sleep(ms, ended.signal);
          if (!raw.complete && isMeant()) raw.socket.destroy();
        };
        cutOffAfter(unknownBodyMs, () => unknown.has(raw.socket)).catch(overInTime);
        reply.raw.once("finish", () => {
          if (!raw.complete) cutOffAfter(lingerMs, () => true).catch(overInTime);
        });
        done();
      });
    },
  };
}

/** Aborts when the client disconnects before it has the whole response. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}
