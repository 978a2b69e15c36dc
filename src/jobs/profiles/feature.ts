/** Profiles: the accounts of the configuration, without secrets. */
import { feature } from "#cli/feature.ts";
import { events } from "./events.ts";

export const profiles = feature({
  name: "profiles",
  events,
  open: ({ config }) => ({
    routes: async () => {
      const { endpoint } = await import("#contract/route.ts");
      const { listProfiles } = await import("./contract.ts");
      const { profiles: configured, profile: selected, deployment } = config;
      const reports = Object.entries(configured).map(([name, { profile, credentials }]) => ({
        name,
        coverage: profile.coverage ?? null,
        wording: profile.wording,
        isDefault: name === selected,
        hasCredentials: credentials.length > 0,
        speedClasses: deployment.speedClasses,
      }));
      return [endpoint(listProfiles, () => ({ profiles: reports, nextCursor: null }))];
    },
  }),
});
