/** The way of a browser to the page of the queues. */
import { z } from "zod";
import type { Api, ControlHouse } from "../house.ts";
import { noBody, nothing } from "../shape.ts";

export function sessionRoutes(api: Api, { sessions }: ControlHouse): void {
  api.post(
    "/session",
    {
      config: { role: "admin" },
      schema: {
        ...{ summary: "Get a cookie that is good for /queues alone, for 15 minutes", tags: ["session"] },
        ...{ querystring: nothing, body: noBody, response: { 204: z.undefined() } },
      },
    },
    async ({ principal }, reply) => {
      if (principal !== undefined) reply.header("set-cookie", sessions.open(principal));
      return reply.code(204).send();
    },
  );
}
