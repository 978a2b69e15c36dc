/** Creates the browser session for the queue dashboard (queues/queue-sessions.ts). */
import { z } from "zod";
import type { Api, ControlDeps } from "../deps.ts";
import { noBody, nothing } from "#contract/fields.ts";

export function sessionRoutes(api: Api, { sessions }: ControlDeps): void {
  api.post(
    "/session",
    {
      config: { role: "admin" },
      schema: {
        summary: "Get a cookie and an address for the queue dashboard, valid for 15 minutes",
        tags: ["session"],
        querystring: nothing,
        body: noBody,
        response: { 201: z.object({ path: z.string() }) },
      },
    },
    async ({ headers }, reply) => {
      const { cookie, path } = sessions.open(headers.authorization);
      return reply.code(201).header("set-cookie", cookie).send({ path });
    },
  );
}
