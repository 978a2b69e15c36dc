/** What answers the routes of freezes. */
import { type Endpoint, endpoint } from "#contract/route.ts";
import * as routes from "./contract.ts";
import { isoTime } from "#core/time.ts";
import type { FreezeReport } from "./contract.ts";
import type { Freezes } from "./record.ts";

export function freezeEndpoints(freezes: Freezes, reach: Reach): readonly Endpoint[] {
  const report = (): Promise<routes.FreezeReport> => reportOfFreezes(freezes, reach);
  return [
    endpoint(routes.showFreeze, report),
    endpoint(routes.startFreeze, async ({ body, by }) => {
      const untilMs = body?.until === undefined ? undefined : Date.parse(body.until);
      await freezes.order({ by, reason: body?.reason ?? "", untilMs });
      return report();
    }),
    endpoint(routes.endFreeze, async ({ by }) => {
      await freezes.end(by);
      return report();
    }),
  ];
}

// The report of freezes, for display and JSON: the manual freeze, and what currently freezes each profile.

/** What a freeze reaches. */
interface Reach {
  readonly profiles: readonly string[];
  /** Location of the data, for display. */
  readonly store: string;
}

/** Number of times shown for a recurring period. */
const shownTimes = 3;

async function reportOfFreezes(freezes: Freezes, { profiles, store }: Reach): Promise<FreezeReport> {
  const workers = await Promise.all(profiles.map(async (name) => [name, await freezes.workersOf(name)] as const));
  const ordered = await freezes.ordered();
  const held = await Promise.all(
    profiles.map(async (name) => {
      const freeze = await freezes.of(name);
      return [name, freeze === undefined ? null : { reason: freeze.reason, until: isoTime(freeze.untilMs) }] as const;
    }),
  );
  return {
    ordered:
      ordered === undefined
        ? null
        : {
            by: ordered.by,
            reason: ordered.reason,
            since: new Date(ordered.sinceMs).toISOString(),
            until: isoTime(ordered.untilMs),
          },
    profiles: Object.fromEntries(held),
    store,
    workers: Object.fromEntries(workers),
    periods: freezes.times(shownTimes).map(({ name, profile, fromMs, toMs }) => ({
      name,
      profile: profile ?? null,
      from: new Date(fromMs).toISOString(),
      to: new Date(toMs).toISOString(),
    })),
  };
}
