/**
 * Parses a YAML file into a tree of plain values and checks its keys against those of the schema. It does not validate
 * values (read-settings.ts, section.ts).
 */
import { LineCounter, parseDocument } from "yaml";
import { messageOf, type Problem } from "#core/errors.ts";
import { readFileOnce } from "#core/open-file.ts";
import { placesOf, settingIds, settingOf } from "../schema.ts";
import { suggestion } from "#core/suggest.ts";

const mostBytes = 4 * 1_048_576;

export type Tree = Readonly<Record<string, unknown>>;

export interface OwnedTree {
  readonly tree: Tree;
  readonly uid?: number;
  readonly mode?: number;
}

export function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The file's mapping; an empty file is an empty one. Faults go to `problems`, with file and line. */
export function readYaml(file: string, problems: Problem[]): Tree {
  return readOwnedYaml(file, problems).tree;
}

/** The file's mapping, with who owns the file and its mode; these are absent where it cannot be read. */
export function readOwnedYaml(file: string, problems: Problem[]): OwnedTree {
  try {
    const { bytes, uid, mode } = readFileOnce(file, { links: "follow", mostBytes });
    return { tree: parseTree(file, bytes.toString("utf8"), problems), uid, mode };
  } catch (thrown) {
    const isMissing = (thrown as NodeJS.ErrnoException).code === "ENOENT";
    problems.push({ where: file, message: isMissing ? "There is no such file." : messageOf(thrown) });
    return { tree: {} };
  }
}

function parseTree(file: string, text: string, problems: Problem[]): Tree {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false });
  for (const fault of document.errors) {
    const { line, col } = lineCounter.linePos(fault.pos[0]);
    problems.push({ where: `${file}, line ${line}, column ${col}`, message: fault.message });
  }
  if (document.errors.length > 0) return {};
  let value: unknown;
  try {
    value = document.toJS() ?? {};
  } catch (thrown) {
    problems.push({ where: file, message: messageOf(thrown) });
    return {};
  }
  if (isTree(value)) return value;
  problems.push({ where: file, message: "must be a mapping of settings, such as `deployment: svc`." });
  return {};
}

/** The value at a path of keys joined by dots; undefined where there is none, and for an empty one. */
export function valueAt(tree: Tree, path: string): unknown {
  let value: unknown = tree;
  for (const key of path.split(".")) value = isTree(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value ?? undefined;
}

/**
 * Reports keys that no setting has, and values where a mapping belongs.
 * @param sections paths of structures that their sections check
 */
export function checkKeys(tree: Tree, sections: readonly string[], problems: Problem[]): void {
  const settings = settingIds.flatMap((id) => placesOf(settingOf(id)).map((place) => place.path.split(".")));
  const known = [...settings, ...sections.map((path) => path.split("."))];
  check(tree, known, "", problems);
}

/** @param known the rest of each known path below `prefix` */
function check(tree: Tree, known: readonly string[][], prefix: string, problems: Problem[]): void {
  for (const [key, value] of Object.entries(tree)) {
    const where = `${prefix}${key}`;
    const names = known.map(([first = ""]) => first);
    if (names.includes("<name>") && !/^[A-Za-z0-9_-]{1,64}$/.test(key)) {
      problems.push({ where, message: "The name of a profile may have letters, digits, - and _." });
      continue;
    }
    const below = known.filter(([first]) => first === key || first === "<name>");
    if (below.length === 0) {
      problems.push({ where, message: `There is no such setting.${suggestion(key, new Set(names))}` });
      continue;
    }
    const inner = below.map((path) => path.slice(1)).filter((path) => path.length > 0);
    if (inner.length === 0 || value === null) continue;
    if (isTree(value)) check(value, inner, `${where}.`, problems);
    else problems.push({ where, message: "must be a mapping of settings." });
  }
}
