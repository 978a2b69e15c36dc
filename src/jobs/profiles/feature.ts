/** Profiles: the accounts of the configuration, without secrets. */
import type { Feature } from "#cli/feature.ts";
import type { Config } from "#config/config.ts";
import { endpoint } from "#contract/route.ts";
import { listProfiles, type ProfileReport } from "./contract.ts";

export const profiles: Feature = {
  name: "profiles",
  endpoints: ({ config }) => [endpoint(listProfiles, () => ({ profiles: reportsOf(config), nextCursor: null }))],
};

function reportsOf({ profiles: configured, profile: selected, deployment: { speedClasses } }: Config): ProfileReport[] {
  return Object.entries(configured).map(([name, { profile, credentials }]) => ({
    name,
    coverage: profile.coverage ?? null,
    wording: profile.wording,
    isDefault: name === selected,
    hasCredentials: credentials.length > 0,
    speedClasses,
  }));
}
