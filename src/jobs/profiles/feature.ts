/** Profiles: the accounts of the configuration, without secrets. */
import { feature } from "#cli/feature.ts";
import { events } from "./events.ts";

export const profiles = feature({
  name: "profiles",
  events,
  open: ({ config }) => ({
    routes: async () => (await import("./endpoints.ts")).profileEndpoints(config),
  }),
});
