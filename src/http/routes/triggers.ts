/**
 * Signed messages from other systems that trigger a schedule. They are signed by the Standard Webhooks specification
 * with the schedule's own secret and need no token. An unknown schedule and one without a secret answer like a wrong
 * signature. The specification signs id, time and body, but not the path. So a message is bound to a schedule by its
 * secret alone; if several schedules share a secret, the body must name the schedule.
 */
import { z } from "zod";
import { SimfleetError } from "#core/errors.ts";
import { isPlainObject, jsonIn } from "#core/json.ts";
import { isSameKey, signatureFault } from "#events/webhook/webhook-signature.ts";
import type { Api, ControlDeps } from "../deps.ts";
import { actorOf } from "../auth/access.ts";
import { id, nothing } from "#contract/fields.ts";

const maxBytes = 65_536;

export function triggerRoutes(api: Api, deps: ControlDeps): void {
  void api.register((child, _options, done) => {
    // The signature is over the body byte for byte.
    child.removeAllContentTypeParsers();
    child.addContentTypeParser("*", { parseAs: "string", bodyLimit: maxBytes }, (_request, body, next) =>
      next(null, body),
    );
    addRoute(child.withTypeProvider(), deps);
    done();
  });
}

function addRoute(api: Api, { schedules, clock, authFailures }: ControlDeps): void {
  api.post(
    "/triggers/:schedule",
    {
      config: { role: "open", takesAnyBody: true, auditKind: "schedules", did: "triggered the schedule" },
      schema: {
        summary: "Trigger a schedule with a signed message",
        tags: ["schedules"],
        description:
          "Signed by the Standard Webhooks specification; a repeated message is ignored for a day. If several schedules have the same secret, the body is JSON with the field `schedule`.",
        headers: z.object({
          "webhook-id": z.string().min(1).max(200).optional(),
          "webhook-timestamp": z.string().max(20).optional(),
          "webhook-signature": z.string().max(2e3).optional(),
        }),
        params: z.strictObject({ schedule: id }),
        querystring: nothing,
        response: { 202: z.object({ schedule: z.string() }) },
      },
      // Before the handler, whose audit entry names the sender.
      preHandler: (request, _reply, done) => {
        const { schedule } = request.params;
        const secretOf = schedules.configured.find(({ name }) => name === schedule)?.trigger;
        const {
          "webhook-id": messageId,
          "webhook-timestamp": timestamp,
          "webhook-signature": signature,
        } = request.headers;
        const body = typeof request.body === "string" ? request.body : "";
        const secrets = secretOf === undefined ? [] : [secretOf()];
        const fault = signatureFault({ id: messageId, timestamp, signature, body }, secrets, clock.wallMs());
        if (fault !== undefined || messageId === undefined)
          throw authFailures.count(request.ip, new SimfleetError("UNAUTHENTICATED", inWords[fault ?? "unsigned"]));
        const others = schedules.configured.filter(({ name }) => name !== schedule);
        const isShared = others.some(({ trigger }) => trigger && secretOf && isSameKey(trigger(), secretOf()));
        if (isShared && scheduleIn(body) !== schedule) {
          throw new SimfleetError(
            "UNAUTHENTICATED",
            `Several schedules have this secret, so the body must name the schedule: {"schedule": ${JSON.stringify(schedule)}}`,
          );
        }
        request.principal = { name: schedule, role: "operator", kind: "trigger" };
        done();
      },
    },
    async (request, reply) => {
      const { schedule } = request.params;
      const { "webhook-id": messageId = "" } = request.headers;
      await schedules.trigger(schedule, { by: actorOf(request.principal), messageId });
      return reply.code(202).send({ schedule });
    },
  );
}

/** The schedule that the body of a message names. */
function scheduleIn(body: string): unknown {
  const document = jsonIn(body);
  return isPlainObject(document) ? document.schedule : undefined;
}

const inWords = {
  unsigned: "The message is not signed: webhook-id, webhook-timestamp and webhook-signature are required",
  stale: "The webhook-timestamp is more than five minutes off",
  forged: "The message is not signed with the secret of a schedule of this name",
} as const;
