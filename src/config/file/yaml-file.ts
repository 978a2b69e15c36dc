/** Parses YAML, a file or a variable's text, into plain values. The schema is not its concern (read-settings.ts). */
import { CORE_SCHEMA, YAMLException, load } from "js-yaml";
import { messageOf, type Problem } from "#core/errors.ts";
import { readFileOnce } from "#core/files/open-file.ts";
import { isPlainObject, valueIn } from "#core/json.ts";

const maxBytes = 4 * 1_048_576;
/** Limit on values, mappings and lists. */
const maxNodes = 100_000;

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
  try {
    const value = load(text, { schema: CORE_SCHEMA });
    assertSmall(value);
    return value ?? undefined;
  } catch (thrown) {
    problems.push(
      thrown instanceof YAMLException ? toProblem(name, text, thrown) : { where: name, message: messageOf(thrown) },
    );
    return undefined;
  }
}

/** Leaves out what the message quotes of the text: it may be a secret that begins with `!` or `*`. */
function toProblem(name: string, text: string, { mark, reason }: YAMLException): Problem {
  const [message = reason] = reason.split(/:? (?:!<|")|: /, 1);
  // A text of several documents has no mark.
  const { line, column } = (mark as typeof mark | undefined) ?? { line: -1, column: -1 };
  const place = line < text.trimEnd().split("\n").length ? `line ${line + 1}, column ${column + 1}` : "at its end";
  return { where: line < 0 ? name : `${name}, ${place}`, message };
}

/** @throws Error if there are too many values: references (`*name`) can make a small text huge */
function assertSmall(value: unknown): void {
  const open = [value];
  for (let nodes = 0; open.length > 0; nodes += 1) {
    if (nodes > maxNodes)
      throw new Error(`has more than ${maxNodes} values, those that its references repeat included.`);
    const one = open.pop();
    if (typeof one === "object" && one !== null) for (const inner of Object.values(one)) open.push(inner);
  }
}

/** The value at a path of keys joined by dots; undefined where there is none, and for an empty one. */
export function valueAt(tree: Tree, path: string): unknown {
  return valueIn(tree, path.split(".")) ?? undefined;
}
