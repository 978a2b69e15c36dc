/** `simfleet storage`: how much of Redis's memory each kind of data uses. */
import { Command } from "@commander-js/extra-typings";
import { type Context, withCaller } from "#cli/context.ts";
import { table } from "#cli/output.ts";
import { type StorageReport, showStorage } from "./contract.ts";
import { counted } from "#cli/format.ts";

export function storageCommand(context: Context): Command {
  const command = new Command("storage").description("Show Redis memory by kind of data, and how long each is kept");
  return withCaller(context, command, "simfleet storage --json", async ({ client, output }) => {
    output.answer(await client.call(showStorage), storageText);
  });
}

function storageText(report: StorageReport): string {
  const { usedBytes, limitBytes, limitFrom, parts, retentionDays, formerProfiles, archive } = report;
  const ofParts = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  const days: Partial<Record<string, number>> = { ...retentionDays, runs: retentionDays.rows };
  const rows = parts.map(({ part, bytes, keys }) => {
    const kept = days[part];
    return [part, sizeText(bytes), keys, kept === undefined ? "" : counted(kept, "day")];
  });
  rows.push(["other", sizeText(Math.max(0, usedBytes - ofParts)), "", ""]);
  const size = sizeText(limitBytes);
  const limit = limitFrom === "maxmemory" ? size : `${size} (the machine's memory; Redis has no maxmemory)`;
  return [
    `${sizeText(usedBytes)} of ${limit} used`,
    table(["DATA", "SIZE", "KEYS", "KEPT"], rows),
    ...formerProfiles.map(({ profile, ...at }) => {
      const [since, removedAt] = [at.since, at.removedAt].map((instant) => instant.slice(0, 10));
      return `The profile ${profile} is not configured since ${since}; its data are removed on ${removedAt}.`;
    }),
    archive === null ? "Rows are removed without an archive." : `Results are archived in ${archive}.`,
  ].join("\n");
}

const units = ["B", "KB", "MB", "GB", "TB"] as const;

/** `17.3 MB`, in powers of 1,024. */
function sizeText(bytes: number): string {
  const exponent = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${(bytes / 1_024 ** exponent).toFixed(exponent === 0 ? 0 : 1)} ${units[exponent]}`;
}
