/** The routes of freezes. A report also says what a freeze of all changes reaches: runs, and the processes on them. */
import { type Endpoint, endpoint } from "#contract/route.ts";
import { isoTime } from "#core/time.ts";
import type { OrderedFreeze } from "#engine/freezes.ts";
import type { RunService } from "#jobs/runs/service.ts";
import type { Kernel } from "#kernel/kernel.ts";
import * as routes from "./contract.ts";

/** Number of times shown for a recurring period. */
const shownTimes = 3;

export function freezeEndpoints(kernel: Kernel, runs: RunService): readonly Endpoint[] {
  const { freezes, config, redisPlace: store } = kernel;
  /** The manual freeze, and what currently freezes each profile. */
  const report = async (): Promise<routes.FreezeReport> => {
    const ordered = await freezes.ordered();
    const held: Record<string, routes.FreezeReport["profiles"][string]> = {};
    const workers: Record<string, number> = {};
    for (const name of Object.keys(config.profiles)) {
      const freeze = await freezes.of(name);
      held[name] = freeze === undefined ? null : { reason: freeze.reason, until: isoTime(freeze.untilMs) };
      workers[name] = await runs.workersOf(name);
    }
    return {
      ordered: ordered === undefined ? null : reportOfOrdered(ordered),
      profiles: held,
      store,
      workers,
      runs: await runs.running(),
      periods: freezes.times(shownTimes).map(({ name, profile, fromMs, toMs }) => ({
        name,
        profile: profile ?? null,
        from: new Date(fromMs).toISOString(),
        to: new Date(toMs).toISOString(),
      })),
    };
  };
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

function reportOfOrdered({ by, reason, sinceMs, untilMs }: OrderedFreeze): routes.FreezeReport["ordered"] {
  return { by, reason, since: new Date(sinceMs).toISOString(), until: isoTime(untilMs) };
}
