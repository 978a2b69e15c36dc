/** Events: what happened, newest first as a list, or as it happens as a stream. */
import { z } from "zod";
import { eventTypes } from "#events/event.ts";
import { eventDocument } from "#jobs/webhooks/contract.ts";
import { documentOfEvent } from "#jobs/webhooks/report.ts";
import type { StreamQuery } from "../event-streams.ts";
import type { Api, ControlDeps } from "../deps.ts";
import { profileOf } from "../plans/order.ts";
import { asList, ofPage, ofProfile, pageOf, several } from "#contract/fields.ts";
import { eventCursor, since } from "./changes.ts";

const types = z.enum(eventTypes);

const mostInId = 2n ** 64n - 1n;
const eventId = z
  .string()
  .regex(/^\d{1,15}-\d{1,20}$/, "has to be the id of an event")
  .refine((id) => BigInt(id.split("-")[1] ?? "0") <= mostInId, "has to be the id of an event");
const streamType = "text/event-stream";

export function eventRoutes(api: Api, deps: ControlDeps): void {
  api.get(
    "/events",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "List events, newest first; of all profiles unless one is given", tags: ["events"] },
        description:
          "With `Accept: text/event-stream` events are streamed as they happen; `Last-Event-ID` continues after an event, `since` after a time. A stream has no pages.",
        querystring: z.strictObject({
          ...ofProfile,
          ...ofPage,
          ...{ cursor: eventCursor, since },
          type: several(types),
        }),
        headers: z.object({ "last-event-id": eventId.optional() }),
        response: { 200: pageOf("events", eventDocument) },
      },
    },
    async (request, reply) => {
      const { profile, type, since: from, limit, cursor } = request.query;
      const named = profile === undefined ? undefined : profileOf(profile, deps);
      const sinceMs = from === undefined ? undefined : Date.parse(from);
      if ((request.headers.accept ?? "").includes(streamType)) {
        const query: StreamQuery = {
          ...{ types: asList(type), profile: named },
          fromId: request.headers["last-event-id"] ?? (sinceMs === undefined ? undefined : before(sinceMs)),
        };
        await deps.streams.serve(request, reply, query);
        return reply;
      }
      const page = await deps.app.feed.newest({ types: asList(type), profile: named, sinceMs }, { limit, cursor });
      return { events: page.events.map(documentOfEvent), nextCursor: page.nextCursor };
    },
  );
}

/** An id before that of every event of this instant and after every earlier one. */
function before(ms: number): string {
  return `${Math.max(0, ms - 1)}-${Number.MAX_SAFE_INTEGER}`;
}
