// Checks how the modules of src/ import each other: the rules of .dependency-cruiser.mjs, and what it cannot check: how
// an import is spelled, whether it imports only types, and how files are named and placed. The dashboard's pure logic
// is checked as well; its components cannot be (the parser does not support JSX), and oxlint has their one rule. `node
// scripts/imports.mjs [folder]` prints one line per violation and exits with 1 if there is any.
import { existsSync, globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { cruise } from "dependency-cruiser";
import rules, { entries, kernelTypes, modules, packages } from "../.dependency-cruiser.mjs";

const vagueNames = /(^|[-/])(utils?|helpers?|common|manager|base|misc)([-.]|$)/;

process.chdir(resolve(process.argv[2] ?? "."));
const folders = ["src", "web/src/pure"].filter((folder) => existsSync(folder));
const { output } = await cruise(folders, { ...rules.options, validate: true, ruleSet: { forbidden: rules.forbidden } });
const files = output.modules.filter(({ source }) => /^(src|web\/src\/pure)\/.*\.ts$/.test(source));
const expected = globSync("{src,web/src/pure}/**/*.ts").length;
if (files.length === 0 || files.length !== expected) {
  console.error(`${files.length} of ${expected} files were read, so little was checked: does @swc/core work here?`);
  process.exit(2);
}

const texts = new Map(files.map(({ source }) => [source, readFileSync(source, "utf8").split("\n")]));
const violations = [
  ...output.summary.violations.map(({ type, from, to, rule, cycle }) => ({
    place: `${from}:${lineOfImport(from, type === "cycle" ? (cycle[0]?.name ?? to) : to)}`,
    rule: rule.name,
    what: type === "cycle" ? [from, ...cycle.map(({ name }) => name)].join(" -> ") : `imports ${to}`,
    reason: rules.forbidden.find(({ name }) => name === rule.name)?.comment ?? "",
  })),
  ...files.flatMap((file) => [...placing(file.source), ...spelling(file), ...wording(file.source)]),
];
for (const { place, rule, what, reason } of violations) console.error(`${place} ${rule}: ${what}\n  ${reason}`);
console.log(
  `${files.length} files checked, ${violations.length === 1 ? "1 violation" : `${violations.length} violations`}`,
);
process.exitCode = violations.length === 0 ? 0 : 1;

/** The module of a file: `core`, `jobs/runs`; for an entry point, its own name. */
function moduleOf(file) {
  const [, top, feature] = file.split("/");
  return top === "jobs" ? `jobs/${feature}` : top;
}

function placing(source) {
  const found = [];
  const report = (rule, what, reason) => found.push({ place: `${source}:1`, rule, what, reason });
  const module = moduleOf(source);
  if (source.startsWith("src/") && !Object.hasOwn(modules, module) && !entries.includes(module)) {
    report("known-module", `${module} is no module`, "Add it to .dependency-cruiser.mjs, with a reason.");
  }
  if (source.endsWith("/index.ts")) {
    report("no-barrel", "is called index.ts", "A barrel hides which file is meant, and ties all of them together.");
  } else if (vagueNames.test(source.replace(/^(web\/)?src\//, ""))) {
    report("clear-name", "has a vague name", "Such files grow without end; name what it keeps or does.");
  }
  return found;
}

function spelling({ source, dependencies }) {
  return dependencies
    .filter(({ resolved }) => resolved.startsWith("src/"))
    .filter(({ module, resolved }) => {
      const wanted = moduleOf(resolved) === moduleOf(source) ? "." : "#";
      return !module.startsWith(wanted) || !module.endsWith(".ts");
    })
    .map(({ module, resolved }) => ({
      place: `${source}:${lineOfImport(source, resolved)}`,
      rule: "import-spelling",
      what: `imports "${module}"`,
      reason: 'Within a module "./file.ts", across modules "#module/file.ts", so that each crossing is visible.',
    }));
}

/** Checks that need the source text. */
function wording(source) {
  const found = [];
  texts.get(source).forEach((line, index) => {
    const report = (rule, what, reason) => found.push({ place: `${source}:${index + 1}`, rule, what, reason });
    const code = line.replace(/^\s*(\/\/|\/?\*).*$/, "");
    if (code.startsWith("export * from")) {
      report("no-barrel", "exports another file's names", "Import each name from the file that has it.");
    }
    if (/\bnew Date\(\)/.test(code) && source !== "src/core/time.ts" && !entries.includes(moduleOf(source))) {
      report("one-clock", "reads the time by itself", "Take a Clock (#core/time.ts), which tests can control.");
    }
    if (source.startsWith("src/jobs/") && code.includes(`from "#${kernelTypes.file}"`)) {
      if (!isOfTypes(source, index)) report("types-of-kernel", "imports more than types", kernelTypes.reason);
    }
    for (const [name, { files: owners, types, reason }] of Object.entries(packages)) {
      const isTypesOnly = types.some((module) => source.startsWith(`src/${module}/`));
      const isOwner = new RegExp(`^src/${owners}`).test(source);
      if (!isTypesOnly || isOwner || !code.includes(`from "${name}"`)) continue;
      if (!isOfTypes(source, index)) report(`owner-of-${name}`, `imports more than types of ${name}`, reason);
    }
  });
  return found;
}

/** Whether an import has types alone. One over several lines starts above the line that names its source. */
function isOfTypes(source, index) {
  const lines = texts.get(source);
  let first = index;
  while (first > 0 && !/^(import|export)\b/.test(lines[first])) first--;
  return /^(import|export) type\b/.test(lines[first]);
}

/** The line on which `source` imports the file or package `target`; 1 if it is not found. */
function lineOfImport(source, target) {
  const dependency = files
    .find((file) => file.source === source)
    ?.dependencies.find(({ resolved }) => resolved === target);
  const quoted = new RegExp(`(from|import|import\\() ?"(node:)?${RegExp.escape(dependency?.module ?? target)}"`);
  return (texts.get(source)?.findIndex((line) => quoted.test(line)) ?? -1) + 1 || 1;
}
