/** What answers the routes of freezes. */
import { type Endpoint, endpoint } from "#contract/route.ts";
import * as routes from "./contract.ts";
import type { Freezes } from "./record.ts";
import { type Reach, reportOfFreezes } from "./report.ts";

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
