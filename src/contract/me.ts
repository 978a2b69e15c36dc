/** The route of the caller. It belongs to no feature: the server alone knows who calls. */
import { z } from "zod";
import { roles } from "#fleet/role.ts";
import { getRoute } from "./route.ts";

const me = z.object({
  name: z.string(),
  role: z.enum(roles),
  kind: z.enum(["token", "jwt", "admin-token", "trigger"]),
  version: z.string().describe("of simfleet"),
  configuration: z.string().nullable().describe("names the tasks of the worker's configuration; null: it has none"),
});

export type Me = Readonly<z.infer<typeof me>>;

export const showMe = getRoute({ path: "/me", summary: "Get the caller's name and role", answer: me });
