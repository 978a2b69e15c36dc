/**
 * Reads all settings of a schema: completes the tree of the file with what the environment gives, and parses it. An
 * environment variable overrides the file. In both, a secret is either the value itself or the path of a file. Problems
 * are collected. A setting with a problem is read as if it were not given, but counts as given, so that it is not also
 * reported as missing.
 */
import { resolve } from "node:path";
import { z } from "zod";
import { isPlainObject, valueIn } from "#core/json.ts";
import { parseYaml, type Tree, valueAt } from "./file/yaml-file.ts";
import { cutsOf, faultsOf, type Report, wordsOf } from "./report.ts";
import { readSecretFile } from "./secrets/secret-file.ts";
import { bare, factsOf, innerOf, type Setting, settingsOf } from "./setting.ts";
import { command, deploymentName, expectedOf, isDeploymentFile, path as pathType } from "./value-types.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface SettingSource {
  readonly tree: Tree;
  /** Environment. Variables of profile settings apply to the selected profile. */
  readonly env: Environment;
  readonly profile: string;
}

/**
 * Reads the settings of file and environment. A setting with a problem is left out, and a named entry with it where the
 * entry needs the setting.
 * @throws ConfigError if nothing can be read because of the problems
 */
export function readSettings<T extends z.ZodType>(schema: T, source: SettingSource, report: Report): z.output<T> {
  const input = copyOf(source.tree) as Record<string, unknown>;
  for (const setting of settingsOf(schema)) {
    const { variable, facts } = setting;
    if (variable === undefined || facts.fileOf !== undefined || facts.nameRule !== undefined) continue;
    const own = setting.path.replace("<name>", source.profile);
    for (const path of new Set([own, ...pathsIn(source.tree, setting.path)])) {
      place(setting, path, { input, report, env: path === own ? source.env : {} });
    }
  }
  // Compiling the schema takes longer than reading one file with it.
  const options = { error: (issue: z.core.$ZodRawIssue) => wordsOf(schema, input, issue), jitless: true };
  const read = schema.safeParse(input, options);
  if (read.success) return read.data;
  for (const { where, message } of faultsOf(read.error, { schema, noun: "setting" })) report.fault(where, message);
  for (const keys of read.error.issues.flatMap((issue) => cutsOf(schema, issue))) remove(input, keys);
  const rest = schema.safeParse(input, options);
  if (rest.success) return rest.data;
  throw report.error();
}

/**
 * The tree of the file with the maps of named entries that variables give as YAML text: each replaces that of the file.
 * Call it before anything else reads the tree.
 */
export function withNamedEntries(schema: z.ZodType, { tree, env }: Omit<SettingSource, "profile">, report: Report) {
  const input = copyOf(tree) as Record<string, unknown>;
  for (const { path, variable = "", facts } of settingsOf(schema)) {
    const text = env[variable];
    if (!text || facts.nameRule === undefined) continue;
    report.found(path, { where: variable });
    const value = parseYaml(variable, text, report.problems);
    if (value !== undefined) put(input, path, value);
  }
  return input;
}

/** The paths of a setting, with the names that the file has in place of `<name>`. */
export function pathsIn(tree: Tree, path: string): string[] {
  const [before = "", after] = path.split(".<name>");
  if (after === undefined) return [path];
  const entries = valueAt(tree, before);
  return isPlainObject(entries) ? Object.keys(entries).map((name) => `${before}.${name}${after}`) : [];
}

/** A copy of the file's tree; an empty value (`key:`) counts as not given. */
export function copyOf(value: unknown): unknown {
  if (value === null) return undefined;
  if (Array.isArray(value)) return value.map(copyOf);
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copyOf(inner)]));
}

/**
 * A value of the file with its relative paths made absolute, from the folder of the file: settings that are paths, and
 * programs with a slash. What is no path stays as it is, to be rejected.
 */
export function withPathsFrom<T>(folder: string, value: T, schema: z.ZodType | undefined): T;
export function withPathsFrom(folder: string, value: unknown, schema = z.unknown() as z.ZodType): unknown {
  const expects = factsOf(schema)?.expects;
  const from = (text: unknown): unknown => (pathType.safeParse(text).success ? resolve(folder, text as string) : text);
  if (Array.isArray(value)) {
    const [first, ...words] = value as readonly unknown[];
    if (expects === expectedOf(command)) return [String(first).includes("/") ? from(first) : first, ...words];
    return value.map((one: unknown) => withPathsFrom(folder, one, innerOf(schema, "0")));
  }
  if (isPlainObject(value)) {
    const entries = Object.entries(value);
    return Object.fromEntries(entries.map(([key, one]) => [key, withPathsFrom(folder, one, innerOf(schema, key))]));
  }
  const isPath = expects === expectedOf(pathType);
  return isPath || (expects === expectedOf(deploymentName) && isDeploymentFile(String(value))) ? from(value) : value;
}

/** Puts the value of a setting into the input, from the stronger source that gives it. */
function place(
  { schema, facts, variable = "" }: Setting,
  path: string,
  { input, report, env }: { input: Record<string, unknown>; report: Report; env: Environment },
): void {
  // A file of variables may be written on Windows.
  const text = facts.secret ? env[variable]?.replace(/\r$/, "") : env[variable];
  const found: { where: string; value?: unknown; file?: unknown }[] = [];
  if (text) found.push({ where: variable, value: fromText(schema, text) });
  if (facts.secret && env[`${variable}_FILE`]) {
    found.push({ where: `${variable}_FILE`, file: env[`${variable}_FILE`] });
  }
  if (found.length === 0) {
    found.push({ where: path, value: valueAt(input, path) });
    if (facts.secret) found.push({ where: `${path}File`, file: valueAt(input, `${path}File`) });
  }
  const [first, second] = found.filter(({ value, file }) => value !== undefined || file !== undefined);
  if (first === undefined) return;
  const { where, value, file } = first;
  report.found(path, { where, file: typeof file === "string" ? file : undefined });
  if (facts.secret && where === variable && /^(["']).*\1$/s.test(String(value)))
    report.fault(path, "is in quotes, which would be a part of it.");
  remove(input, path.split("."));
  if (facts.secret) remove(input, `${path}File`.split("."));
  if (second !== undefined) report.fault(path, `is set together with ${second.where}. Keep one of them.`);
  else if (file === undefined) put(input, path, value);
  else {
    const read = typeof file === "string" ? readSecretFile(file) : { fault: "must be the path of a file." };
    if ("secret" in read) put(input, path, read.secret);
    else if (/^(?:redis|server)\./.test(path)) report.fault(path, read.fault);
    else report.unreadable(path, read.fault);
  }
}

/** Value of a variable as the file would have it: YAML, except for texts, or the short form of a list or map. */
function fromText(schema: z.ZodType, written: string): unknown {
  const type = bare(schema);
  if (type instanceof z.ZodString || type instanceof z.ZodEnum) return written;
  const value = parseYaml("", written, []) ?? written;
  if (type instanceof z.ZodArray && !Array.isArray(value)) return parseList(written);
  if (type instanceof z.ZodRecord && !isPlainObject(value)) {
    // One of the words of a list stands behind the last `=`; any other value starts behind the first.
    const separator = type.valueType instanceof z.ZodEnum ? /=(?=[^=]*$)/ : /(?<=^[^=]*)=/;
    return Object.fromEntries(parseList(written).map((pair) => pair.split(separator)));
  }
  return value;
}

function parseList(written: string): string[] {
  return written.split(",").map((name) => name.trim());
}

/** Where a group is no mapping, it stays as it is, to be rejected. */
function put(input: Record<string, unknown>, path: string, value: unknown): void {
  const keys = path.split(".");
  const last = keys.pop() ?? "";
  let at = input;
  for (const key of keys) {
    const inner = valueIn(at, [key]) ?? (at[key] = {});
    if (!isPlainObject(inner)) return;
    at = inner;
  }
  at[last] = value;
}

function remove(input: unknown, keys: readonly string[]): void {
  const outer = valueIn(input, keys.slice(0, -1));
  if (isPlainObject(outer)) delete outer[keys.at(-1) ?? ""];
}
