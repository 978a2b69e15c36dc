/** What answers the route of profiles: the configuration, without secrets. */
import type { Config } from "#config/config.ts";
import { listProfiles, type ProfileReport } from "#contract/profiles.ts";
import { type Endpoint, endpoint } from "#contract/route.ts";

export function profileEndpoints(config: Config): readonly Endpoint[] {
  return [endpoint(listProfiles, () => ({ profiles: reportsOf(config), nextCursor: null }))];
}

function reportsOf({ profiles, profile: selected, deployment: { speedClasses } }: Config): ProfileReport[] {
  return Object.entries(profiles).map(([name, { profile, credentials }]) => ({
    name,
    coverage: profile.coverage ?? null,
    wording: profile.wording,
    isDefault: name === selected,
    hasCredentials: credentials.length > 0,
    speedClasses,
  }));
}
