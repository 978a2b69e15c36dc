/** The section `freezes`: periods in which nothing may change on the platform. It is here since the kernel reads it. */
import { z } from "zod";
import type { FreezePeriod } from "#fleet/freeze.ts";
import { parseCron } from "#fleet/time/cron.ts";
import type { Known } from "../feature-section.ts";
import { orFault, type Report } from "../report.ts";
import { hasOneOf, says, section, setting } from "../setting.ts";
import { cronText, expecting, number, profileName, timezone } from "../value-types.ts";

const instant = expecting(
  "an instant with its offset, such as `2026-12-24T00:00:00+09:00`",
  z.iso.datetime({ offset: true }),
);

const schema = section(
  z
    .strictObject({
      profile: setting(profileName.optional(), "Profile (account) to freeze.", { fallback: "all of them" }),
      from: setting(instant.optional(), "When it starts; requires `to`."),
      to: setting(instant.optional(), "When it ends."),
      cron: setting(cronText.optional(), "Instead of `from` and `to`: recurring start times."),
      minutes: setting(number(1, 525_600).optional(), "With `cron`: how long it lasts."),
      timezone: setting(timezone.default("UTC"), "With `cron`: time zone of the expression."),
    })
    .refine(hasOneOf("from", "cron"), says("must have either from and to, or cron and minutes."))
    .refine(({ from, to }) => (from === undefined) === (to === undefined), says("must have from and to together."))
    .refine(
      ({ cron, minutes }) => (cron === undefined) === (minutes === undefined),
      says("must have cron and minutes together."),
    ),
  "Change freezes: runs and rotations pause, syncs continue. See docs/schedules.md; `simfleet freeze` freezes everything immediately.",
);

export const freezesSection = { key: "freezes", schema, read: readFreezes };

function readFreezes(entries: z.output<typeof schema>, { profiles }: Known, report: Report) {
  const periods: FreezePeriod[] = [];
  for (const [name, written] of Object.entries(entries)) {
    const at = `freezes.${name}`;
    const { profile, from, to, cron, minutes } = written;
    if (profile !== undefined) report.checkProfile(`${at}.profile`, profile, profiles);
    if (from !== undefined && to !== undefined) {
      const when = { fromMs: Date.parse(from), toMs: Date.parse(to) };
      if (when.toMs <= when.fromMs) report.fault(`${at}.to`, "must be later than from.");
      periods.push({ name, profile, when });
    } else if (cron !== undefined && minutes !== undefined) {
      const opens = orFault(
        () => parseCron(cron, written.timezone),
        (message) => report.fault(`${at}.cron`, `${message}.`),
      );
      if (opens !== undefined) periods.push({ name, profile, when: { opens, lengthMs: minutes * 60_000 } });
    }
  }
  return periods;
}
