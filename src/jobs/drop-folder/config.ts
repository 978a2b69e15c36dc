/** The section `dropFolder`: the folder whose files become runs, and the options of these runs. */
import type { z } from "zod";
import type { Known } from "#config/feature-section.ts";
import type { Report } from "#config/report.ts";
import { group, setting, settingsOf } from "#config/setting.ts";
import { number, path, profileName, text } from "#config/value-types.ts";
import * as tasks from "#jobs/tasks/config.ts";

const schema = group({
  path: setting(path.optional(), "Folder whose CSV files become runs (docs/drop-folder.md).", {
    fallback: "no folder is watched",
  }),
  profile: setting(profileName.optional(), "Profile (account) of the files.", {
    fallback: "the selected one",
  }),
  name: setting(text().optional(), "Name of these runs.", {
    fallback: "the file's name",
  }),
  ...tasks.operationKeys,
  set: setting(
    tasks.inputValues.optional(),
    "Values for all rows by input of the operation; the others are columns. As a variable: `groupId=g-1`, several separated by commas.",
  ),
  ...tasks.runOptionKeys,
  settleSeconds: setting(
    number(0.1, 3_600).default(5),
    "How long size and time of a file must be unchanged before it is picked up.",
  ),
});

export const dropFolderSection = { key: "dropFolder", schema, read: readDropFolder, isHashedAsRead: true } as const;

/** @returns undefined where no folder is configured, or where it is faulty, which `report` then says */
function readDropFolder(written: z.output<typeof schema>, known: Known, report: Report) {
  const { path: folder, profile = known.selected, name, settleSeconds } = written;
  if (!report.isGiven("dropFolder.path")) {
    const given = settingsOf(schema).find((one) => report.isGiven(`dropFolder.${one.path}`));
    if (given !== undefined) report.fault(`dropFolder.${given.path}`, "is set without dropFolder.path.");
    return undefined;
  }
  report.checkProfile("dropFolder.profile", profile, known.profiles);
  const fault = (key: string, message: string): void => report.fault(`dropFolder.${key}`, message);
  const choice = tasks.operationOf(written, { known, profile, inputs: "some" }, fault);
  const options = tasks.optionsOf(written, fault);
  if (folder === undefined || choice === undefined) return undefined;
  return { path: folder, profile, name, ...choice, options, settleMs: settleSeconds * 1_000 };
}

/** A folder whose CSV files become runs. */
export type DropFolder = Readonly<NonNullable<ReturnType<typeof readDropFolder>>>;
