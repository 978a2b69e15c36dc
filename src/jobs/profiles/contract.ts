/** The route of the configured profiles (accounts). */
import { z } from "zod";
import { list, listRoute } from "#contract/fields.ts";

const profileReport = z.object({
  name: z.string(),
  coverage: z.enum(["g", "jp"]).nullable().describe("null: decided by the account's token, or the only one there is"),
  wording: z.enum(["sims", "subscribers"]),
  isDefault: z.boolean(),
  hasCredentials: z.boolean(),
  speedClasses: list(z.string()).describe("speed classes of the platform definition; empty: unknown"),
});

export type ProfileReport = Readonly<z.infer<typeof profileReport>>;

export const listProfiles = listRoute("profiles", profileReport, "List the configured profiles (accounts)");
