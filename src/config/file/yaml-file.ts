/** Parses YAML, a file or a variable's text, into plain values. The schema is not its concern (read-settings.ts). */
import { LineCounter, parseDocument } from "yaml";
import { messageOf, type Problem } from "#core/errors.ts";
import { readFileOnce } from "#core/files/open-file.ts";
import { isPlainObject } from "#core/plain-object.ts";

const maxBytes = 4 * 1_048_576;

export type Tree = Readonly<Record<string, unknown>>;

export type OwnedTree = ReturnType<typeof readYaml>;

/**
 * The file's mapping, with who owns the file and its mode; these are absent where it cannot be read. An empty file is
 * an empty mapping. Faults go to `problems`, with file and line.
 */
export function readYaml(file: string, problems: Problem[]) {
  try {
    const { bytes, uid, mode } = readFileOnce(file, { links: "follow", maxBytes });
    const tree = parseYaml(file, bytes.toString("utf8"), problems) ?? {};
    if (isPlainObject(tree)) return { tree, uid, mode };
    problems.push({ where: file, message: "must be a mapping of settings, such as `deployment: svc`." });
    return { tree: {}, uid, mode };
  } catch (thrown) {
    const isMissing = (thrown as NodeJS.ErrnoException).code === "ENOENT";
    problems.push({ where: file, message: isMissing ? "There is no such file." : messageOf(thrown) });
    return { tree: {} };
  }
}

/** The value of a text; undefined if it is empty or unreadable. @param name of the file or variable that holds it */
export function parseYaml(name: string, text: string, problems: Problem[]): unknown {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false });
  for (const fault of document.errors) {
    const { line, col } = lineCounter.linePos(fault.pos[0]);
    problems.push({ where: `${name}, line ${line}, column ${col}`, message: fault.message });
  }
  if (document.errors.length > 0) return undefined;
  try {
    return document.toJS() ?? undefined;
  } catch (thrown) {
    problems.push({ where: name, message: messageOf(thrown) });
    return undefined;
  }
}

/** The value at a path of keys joined by dots; undefined where there is none, and for an empty one. */
export function valueAt(tree: Tree, path: string): unknown {
  return valueIn(tree, path.split(".")) ?? undefined;
}

/** The value below keys of mappings and indices of lists; undefined where there is none. */
export function valueIn(tree: unknown, keys: readonly string[]): unknown {
  let value = tree;
  for (const key of keys) {
    const isWithin = typeof value === "object" && value !== null && Object.hasOwn(value, key);
    value = isWithin ? (value as Tree)[key] : undefined;
  }
  return value;
}
