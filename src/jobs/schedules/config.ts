/** The section `schedules`: tasks at times, each with a name. */
import { z } from "zod";
import { parsePeriod } from "#core/ago.ts";
import { nextTimes, parseCron } from "#fleet/time/cron.ts";
import { systemClock } from "#core/time.ts";
import { secretInFile, signingSecret } from "#config/secrets/secret-file.ts";
import type { Known } from "#config/feature-section.ts";
import { orFault, type Report } from "#config/report.ts";
import { section, setting } from "#config/setting.ts";
import { cronText, expecting, integer, number, oneOf, path, period, timezone } from "#config/value-types.ts";
import { filesOf, jobKind, taskKeys, taskOf } from "#jobs/tasks/config.ts";
import type { Check } from "#kernel/feature.ts";

const missedPolicy = expecting(
  "`once`, `skip`, or `{ within: 15m }` (a whole number and s, m, h or d)",
  z.union([z.enum(["once", "skip"]), z.strictObject({ within: period })]),
);

const schema = section(
  z.strictObject({
    cron: setting(
      cronText,
      "Cron expression: minute, hour, day, month, weekday; with six fields the first is seconds; or a shortcut such as `@daily`.",
    ),
    timezone: setting(timezone.default("UTC"), "Time zone of the expression."),
    job: setting(
      jobKind,
      "The task: a sync of the SIMs or of their `usage`, a run (`apply`), the rotation of a Credential Set or of the AuthKey, or a report. Settings for the operation or its run are valid only with `apply`.",
    ),
    ...taskKeys,
    triggerSecretFile: setting(
      path.optional(),
      "File of the secret for signed messages that trigger it from outside (`POST /v1/triggers/NAME`, docs/schedules.md).",
    ),
    jitterSeconds: setting(number(0, 86_400).default(0), "Starts up to this much later, by a random delay."),
    overlap: setting(
      oneOf(["skip", "queue", "cancel"]).default("skip"),
      "If the previous run is still active: skip the new one, let it wait, or cancel the active one (`apply` only).",
    ),
    missed: setting(
      missedPolicy.default("once"),
      "Times that passed while no worker was running: run once, skip, or run only if no more than this much time has passed since the due time. After that, the task does not start, whatever the cause of the delay.",
    ),
    pauseAfterFailures: setting(
      integer(1, 1_000).optional(),
      "Pauses the schedule after this many failures in a row, until `simfleet schedules resume`.",
      { fallback: "never" },
    ),
    frozen: setting(
      oneOf(["skip", "wait"]).default("skip"),
      "If it is due during a freeze (`freezes`): skip it, or wait for the end.",
    ),
  }),
  "Scheduled tasks, each with a name. See docs/schedules.md.",
);

export const schedulesSection = { key: "schedules", schema, read: readSchedules };

/** A task that runs at the times of a cron expression. */
export type Schedule = Readonly<ReturnType<typeof readSchedules>[number]>;

function readSchedules(entries: z.output<typeof schema>, known: Known, report: Report) {
  return Object.entries(entries).flatMap(([name, written]) => {
    const at = `schedules.${name}`;
    const cron = orFault(
      () => parseCron(written.cron, written.timezone),
      (message) => report.fault(`${at}.cron`, `${message}.`),
    );
    const task = taskOf(written, { at, known, report });
    const { jitterSeconds, overlap, missed, frozen, pauseAfterFailures } = written;
    if (overlap === "cancel" && written.job !== "apply") {
      report.fault(
        `${at}.overlap`,
        `cannot be cancel: only runs (job: apply) can be cancelled, and the job is ${written.job}.`,
      );
    }
    const unread = (message: string): void => report.unreadable(`${at}.triggerSecretFile`, message);
    const { triggerSecretFile: file } = written;
    const secret = file === undefined ? undefined : secretInFile(file, signingSecret, unread);
    // The secret of messages that trigger it; read again at every use.
    const trigger = secret && { trigger: () => secret.now() };
    if (cron === undefined || task === undefined) return [];
    const window = typeof missed === "string" ? missed : { ...missed, withinMs: parsePeriod(missed.within) };
    const jitterMs = jitterSeconds * 1_000;
    const starts = { cron, jitterMs, overlap, missed: window, frozen, pauseAfterFailures, ...trigger };
    return [{ name, profile: task.profile, task, ...starts }];
  });
}

/** The files of schedules, and the next three times of each, in its time zone and in UTC. */
export function checksOf(schedules: readonly Schedule[]): Check[] {
  return schedules.flatMap(({ name, cron, task }) => {
    const what = `schedule ${name}`;
    const times = nextTimes(cron, systemClock.wallMs(), 3);
    const texts = times.map(({ at, local }) => `${local} (${at.replace(".000Z", "Z")})`);
    return [...filesOf(what, task), { what, detail: `next ${texts.join(", ")}` }];
  });
}
