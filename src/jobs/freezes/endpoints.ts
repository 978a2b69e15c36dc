/** What answers the routes of freezes. */
import { type Endpoint, endpoint } from "#contract/route.ts";
import * as routes from "./contract.ts";
import type { Freezes } from "./record.ts";
import { reportOfFreezes } from "./report.ts";

/** @param profiles names of the configured profiles */
export function freezeEndpoints(freezes: Freezes, profiles: readonly string[]): readonly Endpoint[] {
  const report = (): Promise<routes.FreezeReport> => reportOfFreezes(freezes, profiles);
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
