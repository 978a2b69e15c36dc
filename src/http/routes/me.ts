/** Who am I. */
import { z } from "zod";
import { roles } from "#fleet/role.ts";
import type { Api, ControlDeps } from "../deps.ts";
import { nothing } from "#contract/fields.ts";

const me = z.object({
  name: z.string(),
  role: z.enum(roles),
  kind: z.enum(["token", "jwt", "admin-token", "hook"]),
  version: z.string().describe("of simfleet"),
});

export function meRoutes(api: Api, { version }: ControlDeps): void {
  api.get(
    "/me",
    {
      config: { role: "viewer" },
      schema: { summary: "Get the caller's name and role", tags: ["me"], querystring: nothing, response: { 200: me } },
    },
    ({ principal }) => {
      const { name = "", role = "viewer", kind = "token" } = principal ?? {};
      return { name, role, kind, version };
    },
  );
}
