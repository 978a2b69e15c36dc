/**
 * Writes the generated parts of the documentation: `npm run docs`. A part stands between `<!-- generated: NAME -->` and
 * `<!-- end -->`; `parts` has a function for each name. `npm run docs -- --words` counts hand-written words, per page.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Command } from "@commander-js/extra-typings";
import { load } from "js-yaml";
import { z } from "zod";
import { type Results, tables } from "../bench/peers/report.ts";
import { buildProgram } from "#cli/program.ts";
import { loadDeployment } from "#config/deployment.ts";
import { sectionsOf } from "#config/feature-section.ts";
import { schemaWith } from "#config/schema.ts";
import { type Setting, settingsOf, variableOf } from "#config/setting.ts";
import { errorCatalogue } from "#core/errors.ts";
import type { EventFacts } from "#events/event.ts";
import { features } from "#features.ts";
import { operationFor } from "#fleet/sim-operation/sim-operation.ts";
import { reportOfOperation } from "#jobs/operations/endpoints.ts";
import { refusals } from "#sandbox/refusals.ts";
import { gatewayCalls, histogramCatalogue, metricCatalogue } from "#telemetry/metrics.ts";

const root = fileURLToPath(new URL("../", import.meta.url));

export const pages = ["README.md", "CONTRIBUTING.md", ...globSync("docs/**/*.md", { cwd: root }).toSorted()];

const parts: Readonly<Record<string, () => string | Promise<string>>> = {
  alerts,
  settings,
  "reloaded sections": async () => (await sectionsOf(features)).map(({ key }) => code(key)).join(", "),
  errors,
  events,
  metrics,
  commands,
  operations,
  peers: () => tables(JSON.parse(readFileSync(`${root}bench/peers/results.json`, "utf8")) as Results),
  "sandbox options": sandboxOptions,
  "sandbox codes": () =>
    table(
      ["code", "status", "message"],
      Object.values(refusals).map(([status, code, message]) => [`\`${code}\``, String(status), message]),
    ),
  "security tests": () =>
    table(
      ["promise", "file", "test"],
      shownPromises().map(({ promise, file, title }) => [promise, `[${file}](../../${file})`, title]),
    ),
};

/** A page with its generated parts as they should be. */
export async function rendered(page: string): Promise<string> {
  let text = page;
  for (const [, name = ""] of page.matchAll(/<!-- generated: (.+?) -->/g)) {
    const content = await parts[name]?.();
    if (content === undefined) throw new Error(`No part of the documentation is named ${name}`);
    const [before = "", rest = ""] = text.split(`<!-- generated: ${name} -->`);
    text = `${before}<!-- generated: ${name} -->\n\n${content.trim()}\n\n${rest.slice(rest.indexOf("<!-- end -->"))}`;
  }
  return text;
}

/** Words of a page that are written by hand. Marks of tables, lists and headings are none. */
export function handWrittenWords(page: string): number {
  const own = page.replaceAll(/<!-- generated:[^]*?<!-- end -->/g, "").replaceAll(/<!--[^]*?-->/g, "");
  return own.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

const line = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll(/\s*\n\s*/g, " ").replaceAll("|", "\\|")).join(" | ")} |`;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

const code = (text: string): string => `\`${text}\``;

// Settings.

/** Headings of the settings by the first segment of their path; others are named after it, as `dropFolder`. */
const groups: Readonly<Record<string, string>> = {
  redis: "Redis and data",
  dataDir: "Redis and data",
  deployment: "Platform",
  brand: "Platform",
  endpoints: "Platform",
  language: "Platform",
  profile: "Profiles and credentials",
  profiles: "Profiles and credentials",
  tokenTtlSeconds: "Platform tokens",
  jwksUrl: "Platform tokens",
  tokenPublicKeyFile: "Platform tokens",
  limits: "Quotas and limits",
  changes: "Size and approval of runs",
  seal: "Encryption",
  http: "Control API and dashboard",
  server: "Remote worker",
  audit: "Audit log",
  tracing: "Traces",
  logLevel: "Log",
};

/** `dropFolder` as `Drop folder`. */
function toHeading(key: string): string {
  const words = key.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const firstOf = (path: string): string => path.split(".", 1)[0] ?? path;

async function settings(): Promise<string> {
  const all = settingsOf(schemaWith(await sectionsOf(features)));
  const aboutOf = (path: string): string => all.find((one) => one.path === path)?.facts.description ?? "";
  const shown = all.filter(({ facts }) => facts.fileOf === undefined && facts.nameRule === undefined);
  const single = Map.groupBy(
    shown.filter(({ variable }) => variable !== undefined),
    ({ path }) => groups[firstOf(path)] ?? toHeading(firstOf(path)),
  );
  const named = Map.groupBy(
    shown.filter(({ variable }) => variable === undefined),
    ({ path }) => path.slice(0, path.search(/\.<name>|\[\]/)),
  );
  const head = ["setting", "meaning", "default"];
  return [
    ...[...single].map(([title, some]) => `### ${title}\n\n${table(head, some.map(rowOf))}\n`),
    ...[...named].map(
      ([path, some]) =>
        `### \`${path}\`\n\n${aboutOf(path)} Variable: \`${variableOf(path)}\`, with the whole map as YAML.\n\n${table(head, some.map(rowOf))}\n`,
    ),
  ].join("\n");
}

function rowOf({ path, schema, facts, variable }: Setting): string[] {
  const { description, expects, secret } = facts;
  const names = [path, ...(variable === undefined ? [] : [variable])].map(code).join("<br>");
  const file = variable !== undefined && secret ? ` From a file: \`${path}File\`, \`${variable}_FILE\`.` : "";
  return [names, `${description} Value: ${expects}${secret ? " (secret)" : ""}.${file}`, fallbackOf(schema, facts)];
}

function fallbackOf(schema: z.ZodType, { fallback }: Setting["facts"]): string {
  if (fallback !== undefined) return fallback;
  if (!(schema instanceof z.ZodDefault)) return schema instanceof z.ZodOptional ? "none" : "none (required)";
  const value = schema.def.defaultValue;
  if (!Array.isArray(value)) return code(String(value));
  return value.length === 0 ? "none" : code(value.join(","));
}

// Errors, events, metrics.

const retries = { never: "no", later: "yes, after waiting", retry: "yes, with backoff" } as const;

function errors(): string {
  return table(
    ["code", "meaning", "retry", "exit code"],
    Object.entries(errorCatalogue).map(([name, { disposition, exitCode, meaning }]) => [
      code(name),
      meaning,
      retries[disposition],
      String(exitCode),
    ]),
  );
}

type Entry = readonly [type: string, facts: EventFacts];

/** A section for each kind of event. Fields that all events of a kind have are listed once, below the table. */
function events(): string {
  const all = features.flatMap(({ events: own = {} }) => Object.entries(own));
  const kinds = Object.groupBy(all, ([type]) => type.split(".", 1)[0] ?? "");
  return Object.entries(kinds)
    .map(([kind, entries = []]) => sectionOf(kind, entries))
    .join("");
}

const described = ([name, about]: readonly [string, string]): string => `\`${name}\`: ${about}`;

function sectionOf(kind: string, entries: readonly Entry[]): string {
  const [first, ...others] = entries.map(([, { fields }]) => Object.entries(fields));
  const shared = (first ?? []).filter(([name, about]) =>
    others.every((fields) => fields.some(([other, text]) => other === name && text === about)),
  );
  const isShared = new Set(entries.length > 1 ? shared.map(([name]) => name) : []);
  const rows = entries.map(([type, { when, fields }]) => {
    const further = Object.entries(fields).filter(([name]) => !isShared.has(name));
    return [code(type), when, further.map(described).join("; ")];
  });
  const list = shared.map((field) => `- ${described(field)}`).join("\n");
  const below = isShared.size === 0 ? "" : `\nEach of them also has:\n\n${list}\n`;
  return `\n## \`${kind}.*\`\n\n${table(["event", "when", "fields"], rows)}\n${below}`;
}

function metrics(): string {
  const all = [
    ...Object.values(metricCatalogue),
    gatewayCalls,
    ...Object.values(histogramCatalogue).map((histogram) => ({ kind: "histogram", ...histogram })),
  ];
  const rows = all.map(({ name, kind, labels, help }) => [code(name), kind, labels.map(code).join(", "), help]);
  return table(["metric", "kind", "labels", "meaning"], rows);
}

interface Rule {
  readonly alert: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string };
}

function alerts(): string {
  const text = readFileSync(`${root}deploy/prometheus/alerts.yaml`, "utf8");
  const { groups: all } = load(text) as { groups: { rules: Rule[] }[] };
  const rows = all.flatMap(({ rules }) =>
    rules.map(({ alert, labels: { severity }, annotations: { summary }, for: time = "" }) => [
      `[${alert}](#${alert.toLowerCase()})`,
      severity,
      summary.replaceAll(/\{\{ \$(?:labels\.)?(\w+)[^}]*\}\}/g, "`$1`"),
      time,
    ]),
  );
  return table(["alert", "severity", "message", "after"], rows);
}

// Commands.

/** The command line, with every command loaded. It reads and writes nothing. */
function program(): Promise<Command> {
  const stream = { write: () => true, isTTY: false };
  const io = {
    env: {},
    stdout: stream,
    stderr: stream,
    stdin: process.stdin,
    interrupt: new AbortController().signal,
    setExitCode: () => undefined,
  } as unknown as Parameters<typeof buildProgram>[0]["io"];
  return buildProgram({ io, features });
}

/** Options of most commands, which the page explains once. */
const common = ["--config", "--profile", "--server", "--json", "--quiet"];

async function commands(): Promise<string> {
  const all = (await program()).commands.filter((one) => !["help", "sandbox"].includes(one.name()));
  return all.map((command) => commandText(command as Command)).join("\n");
}

function commandText(command: Command, depth = 2): string {
  const help = command.createHelp();
  const subs = help.visibleCommands(command as never).filter((sub) => sub.name() !== "help");
  const usage = help.commandUsage(command);
  const options = command.options.filter(({ hidden, long }) => !hidden && !common.includes(long ?? ""));
  const rows = options.map((option) => [code(option.flags), help.optionDescription(option)]);
  return [
    `${"#".repeat(depth)} ${usage.split(" [")[0]?.split(" <")[0] ?? ""}\n`,
    `${command.description()}\n`,
    ...(subs.length > 0 ? [] : ["```text", usage, "```\n"]),
    ...(rows.length === 0 || subs.length > 0 ? [] : [`${table(["option", "meaning"], rows)}\n`]),
    ...subs.map((sub) => commandText(sub as unknown as Command, depth + 1)),
  ].join("\n");
}

async function sandboxOptions(): Promise<string> {
  const sandbox = (await program()).commands.find((one) => one.name() === "sandbox");
  if (sandbox === undefined) throw new Error("There is no command sandbox");
  const help = sandbox.createHelp();
  const byGroup = Map.groupBy(sandbox.options, ({ helpGroupHeading = "Help:" }) => helpGroupHeading);
  const rows = [...byGroup].flatMap(([group, options]) => [
    [`**${group.slice(0, -1)}**`, ""],
    ...options.map((option) => [code(option.flags), help.optionDescription(option)]),
  ]);
  return table(["option", "meaning"], rows);
}

// SIM operations.

function operations(): string {
  const { simOperations } = loadDeployment("soracom", []);
  const rows = [...simOperations.values()].map((one) => {
    const { name, inputs, sets, repeat, undo, danger, costlyWhen } = reportOfOperation(operationFor(one, "sims"));
    return [
      `[\`${name}\`](../../examples/operations/${name}.csv)`,
      inputs.flatMap((input) => (input.fromInventory ? [] : code(input.name))).join(", "),
      sets.map(code).join(", "),
      repeat,
      undo.map(code).join(", else "),
      costlyWhen === null ? danger : `${danger} when \`${costlyWhen}\``,
    ];
  });
  return table(["operation", "inputs", "sets", "repeat", "undo", "danger"], rows);
}

// Promises.

interface Shown {
  readonly promise: string;
  readonly file: string;
  readonly title: string;
}

/** Every test with the line `// Shows S5.` above it, by promise, then by file. */
export function shownPromises(): Shown[] {
  const shown = globSync("test/**/*.test.ts", { cwd: root }).flatMap((file): Shown[] => {
    const text = readFileSync(`${root}${file}`, "utf8");
    return [...text.matchAll(/\/\/ Shows (S\d+(?:, S\d+)*)\.\n\s*(?:describe|test|it)\b[^"]*"([^"]+)"/g)].flatMap(
      ([, ids = "", title = ""]) => ids.split(", ").map((promise) => ({ promise, file, title })),
    );
  });
  const number = ({ promise }: Shown): number => Number(promise.slice(1));
  return shown.toSorted((a, b) => number(a) - number(b) || a.file.localeCompare(b.file));
}

if (import.meta.main) {
  let total = 0;
  for (const page of pages) {
    const text = readFileSync(`${root}${page}`, "utf8");
    const next = await rendered(text);
    if (next !== text) writeFileSync(`${root}${page}`, next);
    total += handWrittenWords(next);
    if (process.argv.includes("--words")) console.log(String(handWrittenWords(next)).padStart(6), page);
  }
  if (process.argv.includes("--words")) console.log(String(total).padStart(6), "in all");
}
