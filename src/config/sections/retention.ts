/** The sections `retention` and `archive`: how long ended work is kept in Redis, and where results go before. */
import type { z } from "zod";
import { group, setting } from "../setting.ts";
import { number, path } from "../value-types.ts";

const keptDays = number(0.01, 36_500);

export const retentionSettings = group({
  rowDays: setting(
    keptDays.default(30),
    "Days to keep the rows of a run after its end: inputs and outcomes. The run with its counts stays.",
  ),
  runDays: setting(keptDays.default(365), "Days to keep a run after its end."),
  goneSimDays: setting(keptDays.default(90), "Days to keep a SIM in the inventory after a sync no longer listed it."),
  // Attempts of one delivery span more than a day.
  deliveryDays: setting(number(3, 36_500).default(30), "Days to keep deliveries of webhooks."),
  rotationDays: setting(
    keptDays.default(365),
    "Days to keep the record of a rotation that has ended and is no longer configured.",
  ),
  profileDays: setting(
    keptDays.default(90),
    "Days to keep the data of a profile, such as its inventory and its rotations, after its last sync and after the last worker that had it in its configuration.",
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

/** How long things are kept, and the folder of archived results. */
export type Retention = Readonly<z.output<typeof retentionSettings>> & { readonly archive: string | undefined };
