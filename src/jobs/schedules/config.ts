/** The section `schedules`: tasks at times, each with a name. */
import { z } from "zod";
import type { Problem } from "#core/errors.ts";
import type { Secret } from "#core/secret.ts";
import { asWebhookSecret } from "#core/webhook-secret.ts";
import { type Schedule, frozenPolicies, missedPolicies, overlapPolicies } from "#fleet/schedule.ts";
import { readCron } from "#config/cron.ts";
import { FreshSecret } from "#config/secrets/fresh-secret.ts";
import { oneOf, number, path, text, timezone } from "#config/value-types.ts";
import { defaulted, given, optional, readSection } from "#config/section.ts";
import { type KnownNames, jobKind, taskKeys, taskOf } from "#jobs/tasks/config.ts";
import type { Tree } from "#config/file/yaml-file.ts";

export const schedulesSection = {
  path: "schedules",
  schema: z.strictObject({
    cron: given(
      text("a cron expression such as `0 8 * * 1-5`", /^[^\0\r\n]*$/),
      "Cron expression: minute, hour, day, month, weekday; with six fields the first is seconds; or a shortcut such as `@daily`.",
    ),
    timezone: defaulted(timezone, "Time zone of the expression.", "UTC"),
    job: given(jobKind, "The task: a sync, a run, the rotation of a Credential Set or of the AuthKey, or a report."),
    ...taskKeys,
    hookSecretFile: optional(
      path,
      "File of the secret for signed messages that trigger it from outside (`POST /v1/hooks/NAME`, docs/schedules.md).",
    ),
    jitterSeconds: defaulted(number(0, 86_400), "Starts up to this much later, by a random delay.", 0),
    overlap: defaulted(
      oneOf(overlapPolicies),
      "If the previous run is still active: skip the new one, let it wait, or cancel the active one (`apply` only).",
      "skip",
    ),
    missed: defaulted(
      oneOf(missedPolicies),
      "Times that passed while no worker was running: run once, or skip.",
      "once",
    ),
    frozen: defaulted(
      oneOf(frozenPolicies),
      "If it is due during a freeze (`freezes`): skip it, or wait for the end.",
      "skip",
    ),
  }),
  about: "Scheduled tasks, each with a name. See docs/schedules.md.",
} as const;

/** Secrets of messages that trigger schedules, by the schedule's name; read again at every use. */
export type Hooks = Readonly<Record<string, () => Secret>>;

export function readSchedules(
  tree: Tree,
  known: KnownNames,
  problems: Problem[],
): { readonly schedules: readonly Schedule[]; readonly hooks: Hooks } {
  const schedules: Schedule[] = [];
  const hooks: [string, () => Secret][] = [];
  for (const [name, written] of readSection(tree, schedulesSection, problems)) {
    const at = `${schedulesSection.path}.${name}`;
    const cron = readCron(written, `${at}.cron`, problems);
    const task = taskOf(written, { at, known, problems });
    const { jitterSeconds, overlap, missed, frozen } = written;
    if (overlap === "cancel" && written.job !== "apply") {
      problems.push({
        where: `${at}.overlap`,
        message: `cannot be cancel: only a run can be, and this is ${written.job}.`,
      });
    }
    const secret = written.hookSecretFile === undefined ? undefined : hookSecret(written.hookSecretFile);
    if (secret instanceof FreshSecret) hooks.push([name, () => secret.now()]);
    else if (secret !== undefined) problems.push({ where: `${at}.hookSecretFile`, message: secret.fault });
    if (cron === undefined || task === undefined) continue;
    schedules.push({
      name,
      profile: task.profile,
      cron,
      task,
      jitterMs: jitterSeconds * 1_000,
      overlap,
      missed,
      frozen,
    });
  }
  return { schedules, hooks: Object.fromEntries(hooks) };
}

function hookSecret(file: string): FreshSecret | { readonly fault: string } {
  return FreshSecret.of(
    file,
    asWebhookSecret,
    "whsec_ and 24 to 64 bytes in base64, or a key of 24 to 64 bytes as it is",
  );
}
