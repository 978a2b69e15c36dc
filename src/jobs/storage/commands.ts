/** `simfleet storage`: how much of Redis's memory each kind of data uses. */
import { Command } from "@commander-js/extra-typings";
import { type Context, withCommon } from "#cli/context.ts";
import { table } from "#cli/output.ts";
import { type StorageReport, showStorage } from "./contract.ts";
import { storageStrings } from "./strings.ts";

export function storageCommand(context: Context): Command {
  const command = new Command("storage").description(storageStrings.description);
  return withCommon(command, "simfleet storage --json").action(async (options) => {
    const report = await context.connect(options, ({ client }) => client.call(showStorage));
    context.output(options).answer(report, storageText);
  });
}

function storageText(report: StorageReport): string {
  const { usedBytes, limitBytes, limitFrom, parts, retentionDays, formerProfiles, archive } = report;
  const counted = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  const days: Partial<Record<string, number>> = { ...retentionDays, runs: retentionDays.rows };
  const rows = parts.map(({ part, bytes, keys }) => [part, sizeText(bytes), keys, daysText(days[part])]);
  rows.push([storageStrings.other, sizeText(Math.max(0, usedBytes - counted)), "", ""]);
  const size = sizeText(limitBytes);
  const limit = limitFrom === "maxmemory" ? size : storageStrings.noMaxmemory(size);
  return [
    storageStrings.used(sizeText(usedBytes), limit),
    table(storageStrings.headings, rows),
    ...formerProfiles.map(({ profile, since, removedAt }) =>
      storageStrings.formerProfile(profile, dateOf(since), dateOf(removedAt)),
    ),
    archive === null ? storageStrings.noArchive : storageStrings.archive(archive),
  ].join("\n");
}

function dateOf(instant: string): string {
  return instant.slice(0, 10);
}

function daysText(days: number | undefined): string {
  return days === undefined ? "" : storageStrings.days(days);
}

const units = ["B", "KB", "MB", "GB", "TB"] as const;

/** `17.3 MB`, in powers of 1,024. */
function sizeText(bytes: number): string {
  const exponent = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${(bytes / 1_024 ** exponent).toFixed(exponent === 0 ? 0 : 1)} ${units[exponent]}`;
}
