/** The sections `retention` and `archive`: how long ended work is kept in Redis, and where results go before. */
import type { z } from "zod";
import { group, setting } from "#config/setting.ts";
import { number, path } from "#config/value-types.ts";

const days = number(0.01, 36_500);

export const retentionSettings = group({
  rowDays: setting(
    days.default(30),
    "Days to keep the rows of a run after its end: inputs and outcomes. The run with its counts stays.",
  ),
  runDays: setting(days.default(365), "Days to keep a run after its end."),
  goneSimDays: setting(days.default(90), "Days to keep a SIM in the inventory after a sync no longer listed it."),
  deliveryDays: setting(number(3, 36_500).default(30), "Days to keep deliveries of webhooks."),
  rotationDays: setting(
    days.default(365),
    "Days to keep the record of a rotation that has ended and is no longer configured.",
  ),
  profileDays: setting(
    days.default(90),
    "Days to keep the inventory, the last sync and the rotations of a profile after its last sync and after the last worker that had it in its configuration.",
  ),
  warnAtPercent: setting(
    number(1, 100).default(80),
    "Share of Redis's memory, in percent, above which the event `storage.low` is emitted.",
  ),
});

export const archiveSettings = group({
  path: setting(
    path.optional(),
    "Folder to which the results and the report of a run are written before its rows are removed. Without it they are only removed.",
    { fallback: "no archive" },
  ),
});

const dayMs = 86_400_000;

/** How long things are kept; milliseconds. */
export interface Retention {
  readonly rowsMs: number;
  readonly runsMs: number;
  readonly goneSimsMs: number;
  readonly deliveriesMs: number;
  readonly rotationsMs: number;
  /** Of profiles that no worker has in its configuration. */
  readonly profilesMs: number;
  /** Share of Redis's memory above which a warning is emitted. */
  readonly warnAtShare: number;
  /** Folder of archived results. */
  readonly archive: string | undefined;
}

export function readRetention(
  retention: z.output<typeof retentionSettings>,
  archive: z.output<typeof archiveSettings>,
): Retention {
  const { rowDays, runDays, goneSimDays, deliveryDays, rotationDays, profileDays, warnAtPercent } = retention;
  return {
    rowsMs: rowDays * dayMs,
    runsMs: runDays * dayMs,
    goneSimsMs: goneSimDays * dayMs,
    deliveriesMs: deliveryDays * dayMs,
    rotationsMs: rotationDays * dayMs,
    profilesMs: profileDays * dayMs,
    warnAtShare: warnAtPercent / 100,
    archive: archive.path,
  };
}
