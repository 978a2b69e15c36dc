/** The section `freezes`: periods in which nothing may change on the platform. */
import { z } from "zod";
import type { Problem } from "#core/errors.ts";
import type { FreezeWindow } from "#fleet/freeze.ts";
import { type Kind, number, profileName, text, timezone } from "#config/value-types.ts";
import { readCron } from "#config/cron.ts";
import { defaulted, hasOneOf, optional, readSection, says } from "#config/section.ts";
import { suggestion } from "#core/suggest.ts";
import type { Tree } from "#config/file/yaml-file.ts";

const instant: Kind<string> = {
  schema: z.iso.datetime({ offset: true }),
  expects: "an instant with its offset, such as `2026-12-24T00:00:00+09:00`",
};

export const freezesSection = {
  path: "freezes",
  schema: z
    .strictObject({
      profile: optional(profileName, "Profile (account) to freeze.", "all of them"),
      from: optional(instant, "When it starts; requires `to`."),
      to: optional(instant, "When it ends."),
      cron: optional(
        text("a cron expression such as `0 8 * * 1-5`", /^[^\0\r\n]*$/),
        "Instead of `from` and `to`: recurring start times.",
      ),
      minutes: optional(number(1, 525_600), "With `cron`: how long it lasts."),
      timezone: defaulted(timezone, "With `cron`: time zone of the expression.", "UTC"),
    })
    .refine(hasOneOf("from", "cron"), says("must have either from and to, or cron and minutes."))
    .refine(({ from, to }) => (from === undefined) === (to === undefined), says("must have from and to together."))
    .refine(
      ({ cron, minutes }) => (cron === undefined) === (minutes === undefined),
      says("must have cron and minutes together."),
    ),
  about:
    "Change freezes: runs and rotations pause, syncs continue. See docs/schedules.md; `simfleet freeze` freezes everything immediately.",
} as const;

export function readFreezes(tree: Tree, profiles: readonly string[], problems: Problem[]): readonly FreezeWindow[] {
  const windows: FreezeWindow[] = [];
  for (const [name, written] of readSection(tree, freezesSection, problems)) {
    const at = `${freezesSection.path}.${name}`;
    const { profile, from, to, cron, minutes } = written;
    if (profile !== undefined && !profiles.includes(profile)) {
      problems.push({
        where: `${at}.profile`,
        message: `There is no profile ${profile}.${suggestion(profile, profiles)}`,
      });
    }
    if (from !== undefined && to !== undefined) {
      const when = { fromMs: Date.parse(from), toMs: Date.parse(to) };
      if (when.toMs <= when.fromMs) problems.push({ where: `${at}.to`, message: "has to be later than from." });
      windows.push({ name, profile, when });
    } else if (cron !== undefined && minutes !== undefined) {
      const opens = readCron({ ...written, cron }, `${at}.cron`, problems);
      if (opens !== undefined) windows.push({ name, profile, when: { opens, lengthMs: minutes * 60_000 } });
    }
  }
  return windows;
}
