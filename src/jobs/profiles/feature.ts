/** Profiles: the accounts of the configuration, without secrets. */
import type { Feature } from "#cli/feature.ts";

export const profiles: Feature = {
  name: "profiles",
  endpoints: async ({ config }) => (await import("./endpoints.ts")).profileEndpoints(config),
};
