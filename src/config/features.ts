/**
 * The sections of features: how each is written, and what becomes of it. A worker reloads them without a restart. Each is
 * declared in the config.ts of its feature; only this file names them all.
 */
import type { z } from "zod";
import { authKeysSection, checkAuthKeys } from "#jobs/authkeys/config.ts";
import { automationsSection, readAutomations } from "#jobs/automations/config.ts";
import { readRotations, rotationsSection } from "#jobs/credentials/config.ts";
import { dropFolderSection, readDropFolder } from "#jobs/drop-folder/config.ts";
import { readSchedules, schedulesSection } from "#jobs/schedules/config.ts";
import type { KnownNames } from "#jobs/tasks/config.ts";
import { readUsage, usageSection } from "#jobs/usage/config.ts";
import type { Deployment } from "./deployment.ts";
import type { Report } from "./report.ts";

export const featureSections = {
  dropFolder: dropFolderSection,
  rotations: rotationsSection,
  authKeys: authKeysSection,
  schedules: schedulesSection,
  automations: automationsSection,
  usage: usageSection,
};

type Written = { readonly [Key in keyof typeof featureSections]: z.output<(typeof featureSections)[Key]> };

/** @param base `profiles`: the names of all; `selected`: that of the profile where none is named */
export function readFeatures(
  { rotations: rotationsWritten, authKeys, schedules, automations, usage, dropFolder }: Written,
  base: Pick<KnownNames, "profiles" | "fieldsOf" | "wordingOf"> & {
    readonly selected: string;
    readonly deployment: Deployment;
  },
  report: Report,
) {
  const { profiles, deployment } = base;
  const rotations = readRotations(rotationsWritten, base, report);
  checkAuthKeys(authKeys, profiles, report);
  const known = {
    ...base,
    rotations,
    authKeys: Object.keys(authKeys).filter((name) => authKeys[name]?.user === undefined),
    operations: deployment.simOperations,
  };
  return {
    /** By name; those of all profiles. */
    rotations,
    authKeys,
    ...readSchedules(schedules, known, report),
    automations: readAutomations(automations, known, report),
    usage: readUsage(usage, known, report),
    /** Watched folder. Absent: none. */
    dropFolder: readDropFolder(dropFolder, known, report),
  };
}
