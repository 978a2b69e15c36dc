/** The settings `dropFolder.*`: the folder whose files become runs, and the options of these runs. */
import type { Problem } from "#core/errors.ts";
import type { DropFolder } from "#fleet/drop-folder.ts";
import { isSpeedClass } from "#fleet/sim/speed-class.ts";
import type { SettingId } from "#config/schema.ts";
import { suggestion } from "#core/suggest.ts";
import { optionsOf } from "#jobs/tasks/config.ts";
import type { Values } from "#config/read-settings.ts";

const ids = [
  "dropFolderProfile",
  "dropFolderName",
  "dropFolderSpeedClass",
  "dropFolderPartial",
  "dropFolderSkipUnchanged",
  "dropFolderMaxFailures",
  "dropFolderCanary",
  "dropFolderRate",
  "dropFolderSettleSeconds",
] as const satisfies readonly SettingId[];

/** @returns undefined where no folder is configured, or where it is faulty, which `problems` then says */
export function readDropFolder(
  values: Values,
  known: { readonly profiles: readonly string[]; readonly selected: string },
  problems: Problem[],
): DropFolder | undefined {
  const path = values.get("dropFolderPath");
  const profile = values.get("dropFolderProfile") ?? known.selected;
  const speedClass = values.get("dropFolderSpeedClass");
  const written = {
    partial: values.get("dropFolderPartial"),
    skipUnchanged: values.get("dropFolderSkipUnchanged"),
    maxFailures: values.get("dropFolderMaxFailures"),
    canary: values.get("dropFolderCanary"),
    rate: values.get("dropFolderRate"),
  };
  const read = {
    ...{ profile, speedClass, name: values.get("dropFolderName"), options: optionsOf(written) },
    settleMs: values.getOrDefault("dropFolderSettleSeconds") * 1_000,
  };
  if (values.whereOf("dropFolderPath") === undefined) {
    const given = ids.map((id) => values.whereOf(id)).find((where) => where !== undefined);
    if (given !== undefined) problems.push({ where: given, message: "is set without dropFolder.path." });
    return undefined;
  }
  if (!known.profiles.includes(profile)) {
    const where = values.whereOf("dropFolderProfile") ?? "dropFolder.profile";
    problems.push({ where, message: `There is no profile ${profile}.${suggestion(profile, known.profiles)}` });
  }
  if (speedClass !== undefined && !isSpeedClass(speedClass)) {
    const where = values.whereOf("dropFolderSpeedClass") ?? "dropFolder.speedClass";
    problems.push({ where, message: "cannot be a speed class." });
  }
  return path === undefined ? undefined : { path, ...read };
}
