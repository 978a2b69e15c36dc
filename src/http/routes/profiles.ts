/** The accounts of the configuration. */
import { z } from "zod";
import type { Api, ControlDeps } from "../deps.ts";
import { list, nothing, pageOf } from "#contract/fields.ts";

const profile = z.object({
  name: z.string(),
  coverage: z.enum(["g", "jp"]).nullable().describe("null: decided by the account's token, or the only one there is"),
  wording: z.enum(["sims", "subscribers"]),
  isDefault: z.boolean(),
  hasCredentials: z.boolean(),
  speedClasses: list(z.string()).describe("those that the deployment knows; empty: none is known"),
});

export function profileRoutes(api: Api, { config }: ControlDeps): void {
  api.get(
    "/profiles",
    {
      config: { role: "viewer" },
      schema: {
        summary: "List the configured profiles (accounts)",
        tags: ["profiles"],
        querystring: nothing,
        response: { 200: pageOf("profiles", profile) },
      },
    },
    () => ({
      profiles: Object.entries(config.profiles).map(
        ([
          name,
          {
            profile: { coverage, wording },
            credentials,
          },
        ]) => ({
          ...{ name, wording, coverage: coverage ?? null },
          isDefault: name === config.profile,
          hasCredentials: credentials.length > 0,
          speedClasses: config.deployment.speedClasses,
        }),
      ),
      nextCursor: null,
    }),
  );
}
