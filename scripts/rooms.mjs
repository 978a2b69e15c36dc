// Checks how the rooms of src/ import from each other: the doors of .dependency-cruiser.mjs, and what it cannot see, which
// is how an import is spelled, whether it is of types alone, and how files are named and placed. The dashboard's pure
// logic is checked as well; its components cannot be (the parser knows no JSX), and oxlint has their one rule.
// `node scripts/rooms.mjs [folder]` prints one line per violation and ends with 1 if there is any.
import { existsSync, globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { cruise } from "dependency-cruiser";
import rules, { hall, packages, rooms } from "../.dependency-cruiser.mjs";

const dullNames = /(^|[-/])(utils?|helpers?|common|manager|service|base|misc)([-.]|$)/;

process.chdir(resolve(process.argv[2] ?? "."));
const folders = ["src", "web/src/pure"].filter((folder) => existsSync(folder));
const { output } = await cruise(folders, { ...rules.options, validate: true, ruleSet: { forbidden: rules.forbidden } });
const modules = output.modules.filter(({ source }) => /^(src|web\/src\/pure)\/.*\.ts$/.test(source));
const expected = globSync("{src,web/src/pure}/**/*.ts").length;
if (modules.length === 0 || modules.length !== expected) {
  console.error(`${modules.length} of ${expected} files were read, so little was checked: does @swc/core work here?`);
  process.exit(2);
}

const texts = new Map(modules.map(({ source }) => [source, readFileSync(source, "utf8").split("\n")]));
const violations = [
  ...output.summary.violations.map(({ type, from, to, rule, cycle }) => ({
    place: `${from}:${lineOfImport(from, type === "cycle" ? (cycle[0]?.name ?? to) : to)}`,
    rule: rule.name,
    what: type === "cycle" ? [from, ...cycle.map(({ name }) => name)].join(" -> ") : `imports ${to}`,
    reason: rules.forbidden.find(({ name }) => name === rule.name)?.comment ?? "",
  })),
  ...modules.flatMap((module) => [...placing(module.source), ...spelling(module), ...wording(module.source)]),
];
for (const { place, rule, what, reason } of violations) console.error(`${place} ${rule}: ${what}\n  ${reason}`);
console.log(
  `${modules.length} files checked, ${violations.length === 1 ? "1 violation" : `${violations.length} violations`}`,
);
process.exitCode = violations.length === 0 ? 0 : 1;

/** The name of a file's room; for a file of the hall, its own name. */
function roomOf(file) {
  return file.split("/")[1];
}

function placing(source) {
  const found = [];
  const report = (rule, what, reason) => found.push({ place: `${source}:1`, rule, what, reason });
  const room = roomOf(source);
  if (source.startsWith("src/") && !Object.hasOwn(rooms, room) && !hall.includes(room)) {
    report("known-room", `${room} is no room`, "A new room gets its row in .dependency-cruiser.mjs, with a reason.");
  }
  if (source.endsWith("/index.ts")) {
    report("no-barrel", "is called index.ts", "A barrel hides which file is meant, and ties all of them together.");
  } else if (dullNames.test(source.replace(/^(web\/)?src\//, ""))) {
    report("telling-name", "has a name that says nothing", "Such files grow without end; name what it keeps or does.");
  }
  return found;
}

/** The files of the hall are neighbours, like those of a room. */
function homeOf(file) {
  return hall.includes(roomOf(file)) ? "hall" : roomOf(file);
}

function spelling({ source, dependencies }) {
  return dependencies
    .filter(({ resolved }) => resolved.startsWith("src/"))
    .filter(({ module, resolved }) => {
      const wanted = homeOf(resolved) === homeOf(source) ? "." : "#";
      return !module.startsWith(wanted) || !module.endsWith(".ts");
    })
    .map(({ module, resolved }) => ({
      place: `${source}:${lineOfImport(source, resolved)}`,
      rule: "visible-door",
      what: `imports "${module}"`,
      reason: 'Inside a room "./file.ts", across rooms "#room/file.ts", so that every door is seen where it is used.',
    }));
}

/** What only the text shows. */
function wording(source) {
  const found = [];
  texts.get(source).forEach((line, index) => {
    const report = (rule, what, reason) => found.push({ place: `${source}:${index + 1}`, rule, what, reason });
    const code = line.replace(/^\s*(\/\/|\/?\*).*$/, "");
    if (code.startsWith("export * from")) {
      report("no-barrel", "exports another file's names", "Import each name from the file that has it.");
    }
    if (/\bnew Date\(\)/.test(code) && source !== "src/core/time.ts" && !hall.includes(roomOf(source))) {
      report("one-clock", "reads the time by itself", "Take a Clock (#core/time.ts), which tests can steer.");
    }
    for (const [name, { types, reason }] of Object.entries(packages)) {
      if (!types.includes(roomOf(source)) || !code.includes(`from "${name}"`)) continue;
      if (!/^(import|export) type\b/.test(statementEndingAt(source, index))) {
        report(`only-door-to-${name}`, `imports more than types of ${name}`, reason);
      }
    }
  });
  return found;
}

/** An import over several lines begins above the line that names its source. */
function statementEndingAt(source, index) {
  const lines = texts.get(source);
  let first = index;
  while (first > 0 && !/^(import|export)\b/.test(lines[first])) first--;
  return lines[first];
}

/** The line on which `source` imports the file or package `target`; 1 where it is not found. */
function lineOfImport(source, target) {
  const dependency = modules
    .find((module) => module.source === source)
    ?.dependencies.find(({ resolved }) => resolved === target);
  const quoted = new RegExp(`(from|import|import\\() ?"(node:)?${RegExp.escape(dependency?.module ?? target)}"`);
  return (texts.get(source)?.findIndex((line) => quoted.test(line)) ?? -1) + 1 || 1;
}
