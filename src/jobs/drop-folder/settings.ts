/** The settings of the drop folder, as rows of the table in schema.ts. */
import { failureLimit, integer, number, path, profileName, text, yesOrNo } from "#config/value-types.ts";
import type { Setting } from "#config/setting.ts";

export const dropFolderSettings = {
  dropFolderPath: {
    path: "dropFolder.path",
    variable: "SIMFLEET_DROP_FOLDER_PATH",
    kind: path,
    defaultAbout: "no folder is watched",
    about: "Folder whose CSV files become runs (docs/drop-folder.md).",
  },
  dropFolderProfile: {
    path: "dropFolder.profile",
    variable: "SIMFLEET_DROP_FOLDER_PROFILE",
    kind: profileName,
    defaultAbout: "the selected one",
    about: "Profile (account) of the files.",
  },
  dropFolderName: {
    path: "dropFolder.name",
    variable: "SIMFLEET_DROP_FOLDER_NAME",
    kind: text(),
    defaultAbout: "the file's name",
    about: "Name of these runs.",
  },
  dropFolderSpeedClass: {
    path: "dropFolder.speedClass",
    variable: "SIMFLEET_DROP_FOLDER_SPEED_CLASS",
    kind: text(),
    about: "Speed class for all rows, for files with ids only.",
  },
  dropFolderPartial: {
    path: "dropFolder.partial",
    variable: "SIMFLEET_DROP_FOLDER_PARTIAL",
    kind: yesOrNo,
    default: false,
    about: "Process the valid rows of a file with invalid ones, instead of rejecting the file.",
  },
  dropFolderSkipUnchanged: {
    path: "dropFolder.skipUnchanged",
    variable: "SIMFLEET_DROP_FOLDER_SKIP_UNCHANGED",
    kind: yesOrNo,
    default: false,
    about: "Skip SIMs that already have the class, by the inventory.",
  },
  dropFolderMaxFailures: {
    path: "dropFolder.maxFailures",
    variable: "SIMFLEET_DROP_FOLDER_MAX_FAILURES",
    kind: failureLimit,
    about: "Abort a run when more of its rows than this fail.",
  },
  dropFolderCanary: {
    path: "dropFolder.canary",
    variable: "SIMFLEET_DROP_FOLDER_CANARY",
    kind: integer(1, 1_000_000),
    about: "Number of rows to process first; the rest only if all of them succeed.",
  },
  dropFolderRate: {
    path: "dropFolder.rate",
    variable: "SIMFLEET_DROP_FOLDER_RATE",
    kind: integer(1, 10_000_000),
    about: "Maximum calls per minute of a run.",
  },
  dropFolderSettleSeconds: {
    path: "dropFolder.settleSeconds",
    variable: "SIMFLEET_DROP_FOLDER_SETTLE_SECONDS",
    kind: number(0.1, 3_600),
    default: 5,
    about: "How long size and time of a file must be unchanged before it is picked up.",
  },
} as const satisfies Record<string, Setting>;
