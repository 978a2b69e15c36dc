/** Reads the values of the options of `simfleet sandbox`. */
import { InvalidArgumentError } from "@commander-js/extra-typings";
import { parse } from "csv-parse/sync";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import { IntakeError, messageOf } from "#core/errors.ts";
import { readFileOnce } from "#core/files/open-file.ts";
import { isSimId } from "#fleet/sim/sim.ts";
import { type FaultKind, faultKinds, type FaultRates } from "#sandbox/faults.ts";
import { type ApiGroup, apiGroups, type GroupSeed, type LimitChange } from "#sandbox/options.ts";

/** Limits of the sandbox, which keeps everything in memory. */
const maxSeedBytes = 512 * 1_048_576;

type PerGroup = Partial<Record<ApiGroup, number>>;

/** The well-formed ids of a file's simId column, each once. */
export function readSimIds(file: string): string[] {
  const rows = readRows(file);
  const column = rows[0]?.findIndex((name) => name.toLowerCase().replaceAll(/[\s_]/g, "") === "simid") ?? -1;
  if (column < 0) throw new IntakeError(`${file} has no column simId; the sandbox takes its SIMs from there.`);
  return [...new Set(rows.slice(1).map((row) => row[column] ?? ""))].filter(isSimId);
}

const groupsSchema = z.array(
  z.strictObject({
    groupId: z.string(),
    name: z.string().optional(),
    configuration: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
  }),
);

/** The groups of a YAML or JSON file: an array of `{groupId, name, configuration}`. */
export function readGroups(file: string): GroupSeed[] {
  let content: unknown;
  try {
    content = parseYaml(textOf(file));
  } catch (cause) {
    throw new IntakeError(`${file} cannot be read as YAML or JSON: ${messageOf(cause)}`, { cause });
  }
  const groups = groupsSchema.safeParse(content);
  if (!groups.success) throw new IntakeError(`${file} holds no groups: ${z.prettifyError(groups.error)}`);
  return groups.data;
}

function textOf(file: string): string {
  return readFileOnce(file, { links: "follow", maxBytes: maxSeedBytes }).bytes.toString("utf8");
}

function readRows(file: string): string[][] {
  try {
    return parse(textOf(file), { bom: true, relax_column_count: true, trim: true });
  } catch (cause) {
    throw new IntakeError(`${file} cannot be read as CSV: ${messageOf(cause)}`, { cause });
  }
}

export function asNumber(text: string): number {
  const number = text.trim() === "" ? Number.NaN : Number(text);
  if (!Number.isFinite(number)) throw new InvalidArgumentError("It must be a number.");
  return number;
}

export function asList(text: string): string[] {
  return text.split(",").map((item) => item.trim());
}

export function asLatency(text: string): number | readonly [number, number] {
  const [min = "", max, ...rest] = text.split("-");
  if (rest.length > 0) throw new InvalidArgumentError("It must be milliseconds, `20` or `10-50`.");
  return max === undefined ? asNumber(min) : [asNumber(min), asNumber(max)];
}

export function addPerGroup(text: string, before: PerGroup = {}): PerGroup {
  const [name = "", value] = text.includes("=") ? text.split("=", 2) : ["Sim", text];
  return { ...before, [asGroup(name)]: asNumber(value ?? "") };
}

export function addLimitChange(text: string, before: LimitChange[] = []): LimitChange[] {
  const [, name, limit, seconds] = /^(\w+)=(\d+)@(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  if (name === undefined) throw new InvalidArgumentError("It must be GROUP=LIMIT@SECONDS, such as Sim=100@30.");
  return [...before, { group: asGroup(name), limit: Number(limit), afterMs: Number(seconds) * 1_000 }];
}

export function addFault(text: string, before: FaultRates = {}): FaultRates {
  const [name = "", share = ""] = text.split("=", 2);
  const kind = faultKinds.find((known): known is FaultKind => known === name);
  if (kind === undefined) throw new InvalidArgumentError(`It must be KIND=SHARE; kinds: ${faultKinds.join(", ")}.`);
  return { ...before, [kind]: asNumber(share) };
}

function asGroup(name: string): ApiGroup {
  const group = apiGroups.find((known) => known === name);
  if (group === undefined) throw new InvalidArgumentError(`Unknown API group ${name}; known: ${apiGroups.join(", ")}.`);
  return group;
}
