/** The texts of the command line are in the files strings.ts of src, so that they can be read in one place. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ESTree } from "vite";
import { describe, expect, it } from "vitest";
import { processEffects } from "../../../src/cli/command-effects.ts";
import { features } from "../../../src/features.ts";
import { type TextRules, ownTexts } from "./own-texts.ts";
import { projectDir } from "./run-script.ts";

/** Functions and classes with an argument that users see, and its position. */
const shownArguments: Readonly<Record<string, number>> = {
  description: 0,
  summary: 0,
  optionsGroup: 0,
  option: 1,
  requiredOption: 1,
  argument: 1,
  Option: 1,
  choiceOption: 1,
  outcomeOption: 0,
  whereOption: 0,
  say: 0,
  sayLines: 0,
  confirm: 1,
};
/** Properties that users see, such as the heading of a column. */
const shownProperties = new Set(["heading", "empty", "done", "summary"]);

function nameOfCall(node: ESTree.Node): string {
  if (node.type !== "CallExpression" && node.type !== "NewExpression") return "";
  const { callee } = node;
  if (callee.type === "Identifier") return callee.name;
  return callee.type === "MemberExpression" && callee.property.type === "Identifier" ? callee.property.name : "";
}

function argumentOf(node: ESTree.Node, positions: Readonly<Record<string, number>>): ESTree.Node | undefined {
  if (node.type !== "CallExpression" && node.type !== "NewExpression") return undefined;
  const position = positions[nameOfCall(node)];
  return position === undefined ? undefined : node.arguments[position];
}

/** Two words, a sentence of one word, or the end of a text such as `: `. */
const prose = /[A-Za-z]{2,}[,.:;…)]? \(?[a-z]|^[A-Z][a-z]+[ .:]|^[,;]? ?[a-z]{2,} ?:? $/;
const technical = new Set([
  "changes profile", // what a command changes
  "old data was removed", // lines of a worker's log
  "rotations are configured but will not run: no key to seal secrets is set",
  "AuthKeys are not rotated here:",
  "trimming of events",
  "old events could not be dropped:",
  "stopped by SIGTERM", // a state, as the entry point reports it
  "Bearer", // a header
  "the feature of", // for whoever adds a command
  "does not say what the command changes (effects)",
  "error:", // as Commander begins its messages
]);

const rules: TextRules = {
  prose,
  technical,
  isCode: isTyped,
  shownParts(node) {
    if (node.type === "CallExpression" || node.type === "NewExpression") return [argumentOf(node, shownArguments)];
    const isShown = node.type === "Property" && node.key.type === "Identifier" && shownProperties.has(node.key.name);
    return isShown ? [node.value] : [];
  },
};

/** A command to type, such as an example. */
function isTyped(node: ESTree.Node): boolean {
  const texts =
    node.type === "TemplateLiteral"
      ? node.quasis.map(({ value }) => value.cooked ?? "")
      : node.type === "Literal" && typeof node.value === "string"
        ? [node.value]
        : [];
  const first = texts.map((text) => text.trim()).find((text) => text !== "");
  return first !== undefined && typed.test(first);
}

const commands = [
  ...features.flatMap((feature) => Object.keys(feature.commands ?? {})),
  ...Object.keys(processEffects).map((name) => name.split(" ", 1)[0]),
];
const typed = new RegExp(`^(SIMFLEET_\\w+=\\S+ )?(simfleet( (${commands.join("|")})\\b|$)|(npx|source|curl) )`);

const folder = join(projectDir, "src");
const read = (path: string): string => readFileSync(join(folder, path), "utf8");
const patterns = [
  "cli/**/*.ts",
  "events/commands/*.ts",
  "{events,jobs/*}/{feature,strings}.ts",
  "jobs/*/commands{.ts,/*.ts}",
];
/** Files without messages: units, a configuration file with its comments, and the rows of the demo. */
const data = new Set(["cli/format.ts", "cli/init/config-text.ts", "cli/sample-fleet.ts"]);
const { strings = [], others = [] } = Object.groupBy(
  globSync(patterns, { cwd: folder }).filter((path) => !data.has(path)),
  (path) => (path.endsWith("/strings.ts") ? "strings" : "others"),
);

describe("the texts of the command line", () => {
  it("a text in a help, a message or a heading is found", () => {
    const source = `import { text } from "./some words here.ts";
      export const list = { columns: [{ name: "runId", heading: "run" }], empty: text.none };
      export const command = new Command("list")
        .description("list runs")
        .option("-n, --limit <n>", isLong ? "number" : text.limit)
        .addOption(new Option("--sort <field>", text.sort));
      export const listCommand = withCommon(command, "simfleet runs list -n 50");
      export const ended = () => output.say(\`\${count} rows\`);
      export const failed = (state: "not found") => state === "not found" && stop("Not started.");`;
    expect(ownTexts("list.ts", source, rules)).toEqual([
      "list.ts:2 run",
      "list.ts:4 list runs",
      "list.ts:5 number",
      "list.ts:8 rows",
      "list.ts:9 Not started.",
    ]);
  });

  it("every text of the command line is in a strings.ts", () => {
    expect(others.length).toBeGreaterThan(70);
    expect(others.flatMap((path) => ownTexts(path, read(path), rules))).toEqual([]);
  });

  it("every text in a strings.ts is used", () => {
    const used = new Set(others.flatMap((path) => read(path).match(/(?<=\.|group: "|const \{ (?:\w+, )*)\w+/g) ?? []));
    const names = strings.flatMap((path) => {
      const tables = [
        ...read(path).matchAll(/^export const \w+(?:Strings|Faults|ummaries) = \{\n(.*?)^\} as const;/gms),
      ];
      return tables.flatMap(([, table = ""]) => [...table.matchAll(/^ {2}(\w+):/gm)].map(([, name = ""]) => name));
    });
    expect(names.length).toBeGreaterThan(300);
    expect(names.filter((name) => !used.has(name))).toEqual([]);
  });
});
