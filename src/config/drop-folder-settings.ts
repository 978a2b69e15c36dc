/** The settings of the drop folder: a part of the table in schema.ts. */
import { failureLimit, integer, number, path, profileName, text, yesOrNo } from "./kind.ts";
import type { Setting } from "./setting.ts";

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
    about: "Account that the files are about.",
  },
  dropFolderName: {
    path: "dropFolder.name",
    variable: "SIMFLEET_DROP_FOLDER_NAME",
    kind: text(),
    defaultAbout: "the file's name",
    about: "What these runs are called.",
  },
  dropFolderSpeedClass: {
    path: "dropFolder.speedClass",
    variable: "SIMFLEET_DROP_FOLDER_SPEED_CLASS",
    kind: text(),
    about: "One class for all rows, for files of ids only.",
  },
  dropFolderPartial: {
    path: "dropFolder.partial",
    variable: "SIMFLEET_DROP_FOLDER_PARTIAL",
    kind: yesOrNo,
    default: false,
    about: "Do the valid rows of a file that has invalid ones, instead of refusing it.",
  },
  dropFolderSkipUnchanged: {
    path: "dropFolder.skipUnchanged",
    variable: "SIMFLEET_DROP_FOLDER_SKIP_UNCHANGED",
    kind: yesOrNo,
    default: false,
    about: "Spend no call on a SIM that is known to have the class already.",
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
    about: "Do so many rows of a run first, and the rest only if all of them hold.",
  },
  dropFolderRate: {
    path: "dropFolder.rate",
    variable: "SIMFLEET_DROP_FOLDER_RATE",
    kind: integer(1, 10_000_000),
    about: "Calls per minute of a run at most.",
  },
  dropFolderSettleSeconds: {
    path: "dropFolder.settleSeconds",
    variable: "SIMFLEET_DROP_FOLDER_SETTLE_SECONDS",
    kind: number(0.1, 3_600),
    default: 5,
    about: "A file is taken once its size and time have not changed for so long.",
  },
} as const satisfies Record<string, Setting>;
