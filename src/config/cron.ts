/** Reads a cron expression of the configuration. */
import { SimfleetError } from "#core/errors.ts";
import { type Cron, parseCron } from "#fleet/time/cron.ts";
import type { Report } from "./report.ts";

/** An invalid expression is reported with the wrong field and an example. */
export function readCron(
  { cron, timezone: zone }: { readonly cron: string; readonly timezone: string },
  path: string,
  report: Report,
): Cron | undefined {
  try {
    return parseCron(cron, zone);
  } catch (thrown) {
    if (!(thrown instanceof SimfleetError)) throw thrown;
    report.fault(path, `${thrown.message}.`);
    return undefined;
  }
}
