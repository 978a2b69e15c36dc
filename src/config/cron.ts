/** Reads a cron expression of the configuration. */
import { SimfleetError, type Problem } from "#core/errors.ts";
import { type Cron, parseCron } from "#fleet/time/cron.ts";

/** An invalid expression is reported with the wrong field and an example. */
export function readCron(
  { cron, timezone: zone }: { readonly cron: string; readonly timezone: string },
  where: string,
  problems: Problem[],
): Cron | undefined {
  try {
    return parseCron(cron, zone);
  } catch (thrown) {
    if (!(thrown instanceof SimfleetError)) throw thrown;
    problems.push({ where, message: `${thrown.message}.` });
    return undefined;
  }
}
