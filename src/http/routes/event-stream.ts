/** The stream form of `GET /v1/events`, which the server adds to the route's list. */
import { z } from "zod";
import { asList } from "#contract/fields.ts";
import type { Call } from "#contract/route.ts";
import { parseInstant } from "#core/ago.ts";
import type { listEvents } from "#events/contract.ts";
import { typesMeantBy } from "#events/event.ts";
import type { ControlDeps } from "../deps.ts";
import type { HttpPart } from "../mount.ts";

const maxInId = 2n ** 64n - 1n;
const eventId = z
  .string()
  .regex(/^\d{1,15}-\d{1,20}$/, "must be the ID of an event")
  .refine((id) => BigInt(id.split("-")[1] ?? "0") <= maxInId, "must be the ID of an event");

export function eventStream({ streams, profileOf }: Pick<ControlDeps, "streams" | "profileOf">): HttpPart {
  return {
    headers: z.object({ "last-event-id": eventId.optional() }),
    preHandler: async (request, reply) => {
      const { accept = "", "last-event-id": lastId } = request.headers;
      if (!accept.includes("text/event-stream")) return undefined;
      const { profile, type, since } = request.query as Call<typeof listEvents>["query"];
      const sinceMs = parseInstant(since);
      const afterId = sinceMs === undefined ? undefined : idBefore(sinceMs);
      await streams.serve(request, reply, {
        types: asList(type)?.flatMap(typesMeantBy),
        profile: profile === undefined ? undefined : profileOf(profile),
        fromId: typeof lastId === "string" ? lastId : afterId,
      });
      return reply;
    },
  };
}

/** An id before that of every event of this instant and after every earlier one. */
function idBefore(ms: number): string {
  return `${Math.max(0, ms - 1)}-${Number.MAX_SAFE_INTEGER}`;
}
