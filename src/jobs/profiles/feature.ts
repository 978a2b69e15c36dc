/** Profiles: the accounts of the configuration, without secrets. */
import { feature } from "#cli/feature.ts";

export const profiles = feature({
  name: "profiles",
  open: ({ config }) =>
    Promise.resolve({
      service: undefined,
      routes: async () => (await import("./endpoints.ts")).profileEndpoints(config),
    }),
});
