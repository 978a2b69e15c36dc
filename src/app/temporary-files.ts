/** The folders that a worker writes files to, to remove what a killed process has left there. */
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Config } from "#config/config.ts";
import { removeAbandonedFiles } from "#core/files/write-file.ts";

/** Removes temporary files of killed processes beside the sinks and reports, and from the archive. */
export async function removeTemporaryFiles(
  config: Pick<Config, "rotations" | "authKeys" | "schedules" | "automations" | "retention">,
): Promise<void> {
  const { rotations, authKeys, schedules, automations, retention } = config;
  const sinks = [...Object.values(rotations), ...Object.values(authKeys)].flatMap((one) => one.sinks);
  const tasks = [...schedules.map(({ task }) => task), ...automations.map(({ action }) => action)];
  const files = [
    ...sinks.flatMap((sink) => (sink.kind === "file" ? [sink.path] : [])),
    ...tasks.flatMap((task) => (task.job === "report" ? [task.file] : [])),
  ];
  const months = retention.archive === undefined ? [] : await archivedMonths(retention.archive);
  for (const folder of new Set([...files.map((file) => dirname(file)), ...months])) await removeAbandonedFiles(folder);
}

/** `<archive>/2026/11` */
async function archivedMonths(archive: string): Promise<string[]> {
  const years = await foldersIn(archive, /^\d{4}$/);
  return (await Promise.all(years.map((year) => foldersIn(year, /^\d{2}$/)))).flat();
}

async function foldersIn(path: string, isWanted: RegExp): Promise<string[]> {
  const names = await readdir(path).catch(() => []);
  return names.filter((name) => isWanted.test(name)).map((name) => join(path, name));
}
