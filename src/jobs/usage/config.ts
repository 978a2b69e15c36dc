/** The section `usage`: how much a SIM may use in a day or month before an event says so. */
import { z } from "zod";
import { byteUnits, everySim } from "#fleet/filter.ts";
import type { Known } from "#config/feature-section.ts";
import type { Report } from "#config/report.ts";
import { group, listed, setting } from "#config/setting.ts";
import { dataSize, oneOf, plainName } from "#config/value-types.ts";
import { filterText, readFilter } from "#jobs/tasks/config.ts";

const schema = group({
  thresholds: listed(
    z.strictObject({
      name: setting(plainName, "Name of the threshold, as the event `sim.usage-crossed` has it."),
      where: setting(filterText.optional(), "Filter for the SIMs that the threshold applies to.", { fallback: "all" }),
      over: setting(dataSize, "Usage above which a SIM has crossed it; decimal units."),
      per: setting(oneOf(["day", "month"]), "Period of the usage, in UTC; a SIM crosses it once in each."),
    }),
    "Amounts of data: a SIM that uses more in a day or month emits `sim.usage-crossed`. See docs/inventory.md.",
  ),
});

export const usageSection = { key: "usage", schema, read: readUsage };

/** An amount of data in a day or month, in bytes, above which the usage of a SIM is reported. */
export type Threshold = ReturnType<typeof readUsage>["thresholds"][number];

function readUsage({ thresholds: written }: z.output<typeof schema>, { fieldsOf, profiles }: Known, report: Report) {
  const fields = [...new Set(profiles.flatMap(fieldsOf))];
  const thresholds = written.map(({ where, over, ...threshold }, nth) => {
    const at = `usage.thresholds.${nth}`;
    if (written.findIndex(({ name }) => name === threshold.name) < nth) {
      report.fault(`${at}.name`, `${threshold.name} is the name of another threshold.`);
    }
    const fault = (message: string): void => report.fault(`${at}.where`, message);
    const filter = where === undefined ? everySim : readFilter(where, fields, fault);
    const unit = byteUnits.get(over.replace(/^[\d. ]+/, "")) ?? 0;
    return { ...threshold, where: filter ?? everySim, over: Math.round(Number.parseFloat(over) * unit) };
  });
  return { thresholds };
}
