/**
 * Sections of the file that contain named entries instead of single values (`rotations:`). Each has one strict schema,
 * from which the loader, the check for unknown keys and the documentation are derived. Problems are reported per entry,
 * so one invalid entry does not hide the problems of another.
 */
import { z } from "zod";
import type { Problem } from "#core/errors.ts";
import type { Kind } from "./value-types.ts";
import { suggestion } from "#core/suggest.ts";
import type { EventFacts } from "#events/event.ts";
import { isTree, type Tree, valueAt } from "./file/yaml-file.ts";

/** The documentation of a value. */
interface ValueFacts {
  readonly expects: string;
  readonly about: string;
  /** In words; absent where the value has to be given. */
  readonly fallback?: string;
}

/** The facts of each value's schema. */
const factsOf = z.registry<ValueFacts>();

type Checked<T> = z.ZodPipe<z.ZodUnknown, z.ZodTransform<T>>;

/** A value that has to be given. */
export function given<T>(kind: Kind<T>, about: string): Checked<T> {
  const schema = checked<T>(kind, () => undefined);
  factsOf.add(schema, { about, expects: kind.expects });
  return schema;
}

/** A value that may be left out. @param fallback what then holds, in words */
export function optional<T>(kind: Kind<T>, about: string, fallback = "none"): z.ZodOptional<Checked<T | undefined>> {
  const schema = checked<T | undefined>(kind, () => ({ value: undefined })).optional();
  factsOf.add(schema, { about, expects: kind.expects, fallback });
  return schema;
}

export function defaulted<T extends string | number>(
  kind: Kind<T>,
  about: string,
  fallback: T,
): z.ZodDefault<Checked<T>> {
  const schema = checked<T>(kind, () => ({ value: fallback })).default(() => fallback as never);
  factsOf.add(schema, { about, expects: kind.expects, fallback: `\`${fallback}\`` });
  return schema;
}

/** @param absent what an empty value (`key:`) is read as; undefined where there has to be one */
function checked<T>(kind: Kind<T>, absent: () => { readonly value: T } | undefined): Checked<T> {
  return z.unknown().transform((raw, context): T => {
    const isAbsent = raw === undefined || raw === null;
    const instead = isAbsent ? absent() : undefined;
    if (instead !== undefined) return instead.value;
    const found = kind.schema.safeParse(raw);
    if (found.success) return found.data;
    context.addIssue(isAbsent ? `is missing; it is ${kind.expects}.` : `must be ${kind.expects}.`);
    return z.NEVER;
  });
}

/** Whether exactly one of these keys is given, to be refined with. */
export function hasOneOf(...keys: readonly string[]): (value: unknown) => boolean {
  return (value) => isTree(value) && keys.filter((key) => value[key] !== undefined && value[key] !== null).length === 1;
}

/** The parameters of a refinement that speaks also where another value of the mapping is at fault. */
export function says(message: string): { readonly error: string; readonly when: () => boolean } {
  return { error: message, when: () => true };
}

/** A section of the file that belongs to one feature. */
export interface Section<T = unknown> {
  readonly path: string;
  readonly schema: z.ZodType<T>;
  /** What the documentation says of it. */
  readonly about: string;
}

/** A feature as far as the configuration is concerned. */
export interface FeatureSection {
  /** Its section: entries by name. */
  readonly section?: Section;
  /** Events that it emits, with their fields. */
  readonly events?: Readonly<Record<string, EventFacts>>;
}

const entryName = /^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9])?$/;

/**
 * Reads the entries of a section.
 * @param problems takes every fault with its path
 * @returns those without a fault, in the order of the file
 */
export function readSection<T>(
  tree: Tree,
  { path, schema }: { readonly path: string; readonly schema: z.ZodType<T> },
  problems: Problem[],
): Map<string, T> {
  const entries = new Map<string, T>();
  const written = valueAt(tree, path);
  if (written === undefined) return entries;
  if (!isTree(written)) {
    problems.push({ where: path, message: "must be a mapping of names to settings." });
    return entries;
  }
  for (const [name, value] of Object.entries(written)) {
    const where = `${path}.${name}`;
    if (!entryName.test(name)) {
      problems.push({
        where,
        message: "A name may have letters, digits, - and _, and must start and end with a letter or digit.",
      });
    } else if (isTree(value)) {
      const read = schema.safeParse(value);
      if (read.success) entries.set(name, read.data);
      else problems.push(...faultsOf(read.error, { schema, where, noun: "setting" }));
    } else {
      problems.push({ where, message: "must be a mapping of settings." });
    }
  }
  return entries;
}

/** The faults of a structure with the path of each; a key that is not known gets the one that was probably meant. */
export function faultsOf(
  error: z.ZodError,
  { schema, where, noun }: { schema: z.ZodType; where: string; noun: string },
): Problem[] {
  return error.issues.flatMap((issue) => {
    const place = [where, ...issue.path.map(String)].filter((step) => step !== "").join(".");
    if (issue.code === "invalid_type") return { where: place, message: kindOfShape(issue.expected, issue.message) };
    if (issue.code !== "unrecognized_keys") return { where: place, message: issue.message };
    const known = Object.keys(shapeAt(schema, issue.path) ?? {});
    return issue.keys.map((key) => ({
      where: `${place}.${key}`,
      message: `There is no such ${noun}.${suggestion(key, known)}`,
    }));
  });
}

/** In our words where the schema has none of its own. */
function kindOfShape(expected: string, message: string): string {
  if (!message.startsWith("Invalid input")) return message;
  if (expected === "object" || expected === "record") return "must be a mapping of settings.";
  return expected === "array" ? "must be a list." : message;
}

type Shape = Readonly<Record<string, z.ZodType>>;

/** The mapping that a path leads to. */
function shapeAt(schema: z.ZodType, path: readonly PropertyKey[]): Shape | undefined {
  let inner: z.ZodType | undefined = bare(schema);
  for (const step of path) {
    if (inner instanceof z.ZodArray) inner = bare(inner.element as z.ZodType);
    else inner = inner instanceof z.ZodObject ? bare((inner.shape as Shape)[String(step)]) : undefined;
  }
  return inner instanceof z.ZodObject ? inner.shape : undefined;
}

function bare(schema: z.ZodType | undefined): z.ZodType | undefined {
  let inner = schema;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable) inner = inner.unwrap() as z.ZodType;
  return inner;
}

/** Every value of a structure, with its path; the items of a list are under `[]`. */
export function* valuesOf(schema: z.ZodType, path: string): Generator<{ path: string; facts: ValueFacts }> {
  const inner = bare(schema);
  const facts = factsOf.get(schema);
  if (facts !== undefined) yield { path, facts };
  else if (inner instanceof z.ZodArray) yield* valuesOf(inner.element as z.ZodType, `${path}[]`);
  else if (inner instanceof z.ZodObject) {
    const shape: Shape = inner.shape;
    for (const [key, value] of Object.entries(shape)) yield* valuesOf(value, `${path}.${key}`);
  }
}
