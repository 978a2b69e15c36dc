/** Endpoint of profiles. */
import { type Endpoint, endpoint } from "#contract/route.ts";
import { listProfiles, type ProfileReport } from "./contract.ts";

/** The parts of the configuration that the reports take. */
interface Configured {
  readonly profiles: Readonly<
    Record<
      string,
      {
        readonly profile: {
          readonly coverage?: NonNullable<ProfileReport["coverage"]> | undefined;
          readonly wording: ProfileReport["wording"];
        };
        readonly credentials: readonly unknown[];
      }
    >
  >;
  /** Name of the selected one. */
  readonly profile: string;
  readonly deployment: { readonly speedClasses: ProfileReport["speedClasses"] };
}

export function profileEndpoints(configured: Configured): readonly Endpoint[] {
  return [endpoint(listProfiles, () => ({ profiles: reportsOf(configured), nextCursor: null }))];
}

function reportsOf({
  profiles: configured,
  profile: selected,
  deployment: { speedClasses },
}: Configured): ProfileReport[] {
  return Object.entries(configured).map(([name, { profile, credentials }]) => ({
    name,
    coverage: profile.coverage ?? null,
    wording: profile.wording,
    isDefault: name === selected,
    hasCredentials: credentials.length > 0,
    speedClasses,
  }));
}
