/**
 * What is wrong with the configuration, and where its settings are given. Issues of zod become problems in our words,
 * with their paths and what was probably meant by an unknown key.
 */
import { z } from "zod";
import { ConfigError, type Problem, SimfleetError } from "#core/errors.ts";
import { suggestion } from "#core/suggest.ts";
import { valueIn } from "#core/json.ts";
import { bare, factsOf, innerOf } from "./setting.ts";

interface Place {
  /** The path in the file, or the variable. */
  readonly where: string;
  /** The file that the secret is in. */
  readonly file?: string | undefined;
}

export type Report = ReturnType<typeof openReport>;

export function openReport({ isForCommand = false } = {}) {
  const problems: Problem[] = [];
  const unread: (Problem & { readonly path: string })[] = [];
  const warnings: Problem[] = [];
  const places = new Map<string, Place>();

  /** A path within a section that a variable gives as a whole is shown with the variable. */
  const describePlace = (path: string): string => {
    for (let at = path; at !== ""; at = at.slice(0, Math.max(0, at.lastIndexOf(".")))) {
      const where = places.get(at)?.where;
      if (where !== undefined) return at === path || where === at ? where : `${where}, ${path}`;
    }
    return path;
  };

  const fault = (path: string, message: string): void => void problems.push({ where: describePlace(path), message });

  return {
    problems,
    /** With `isForCommand`: secrets that could not be read, which are a problem of the commands that need them. */
    unread,
    /** Settings that work, but maybe not as intended. */
    warnings,
    fault,

    /** Records the place of a setting, be its value valid or not. */
    found: (path: string, place: Place): void => void places.set(path, place),

    /** The place of a setting with a variable; undefined where it is not given. */
    placeOf: (path: string): Place | undefined => places.get(path),

    isGiven: (path: string): boolean => places.has(path),

    /** Adds a problem of the file of a secret that few commands need. */
    unreadable(path: string, message: string): void {
      if (isForCommand) unread.push({ path, where: describePlace(path), message });
      else fault(path, message);
    },

    warn: (path: string, message: string): void => void warnings.push({ where: describePlace(path), message }),

    /** All problems. One variable can feed two settings, so that its problem is found twice. */
    error: (): ConfigError =>
      new ConfigError([
        ...new Map(problems.map((problem) => [`${problem.where}: ${problem.message}`, problem])).values(),
      ]),

    /** Adds a problem if the setting at this path names none of the known profiles. */
    checkProfile(path: string, profile: string, known: readonly string[]): void {
      if (!known.includes(profile)) fault(path, `There is no profile ${profile}.${suggestion(profile, known)}`);
    },
  };
}

/** Result of `make`, or undefined if it throws a SimfleetError, whose message goes to `fault`. */
export function orFault<T>(make: () => T, fault: (message: string) => void): T | undefined {
  try {
    return make();
  } catch (thrown) {
    if (!(thrown instanceof SimfleetError)) throw thrown;
    fault(thrown.message);
    return undefined;
  }
}

/** The faults of a structure with the path of each; a key that is not known gets the one that was probably meant. */
export function faultsOf(error: z.ZodError, { schema, noun }: { schema: z.ZodType; noun: string }): Problem[] {
  return error.issues.flatMap((issue) => {
    const { reached, keys } = follow(schema, issue.path);
    const where = keys.join(".");
    if (issue.code === "invalid_type") return { where, message: wordsOfShape(issue.expected, issue.message) };
    if (issue.code !== "unrecognized_keys") return { where, message: issue.message };
    const outer = bare(reached);
    const known = outer instanceof z.ZodObject ? Object.keys(outer.shape) : [];
    return issue.keys.map((key) => ({
      where: [...keys, key].join("."),
      message: `There is no such ${noun}.${suggestion(key, known)}`,
    }));
  });
}

/** In our words where the schema has none of its own. */
function wordsOfShape(expected: string, message: string): string {
  if (!message.startsWith("Invalid input")) return message;
  if (expected === "object") return "must be a mapping of settings.";
  if (expected === "record") return "must be a mapping of names to settings.";
  return expected === "array" ? "must be a list." : message;
}

/** The message of an issue for which the schema has no words of its own, from the metadata of what it is about. */
export function wordsOf(schema: z.ZodType, input: unknown, issue: z.core.$ZodRawIssue): string | undefined {
  const { reached, keys, isInEntry } = follow(schema, issue.path ?? []);
  const facts = factsOf(reached) ?? factsOf(bare(reached));
  if (issue.code === "invalid_key") return factsOf(follow(schema, keys.slice(0, -1)).reached)?.nameRule;
  if (facts === undefined) return undefined;
  const value = valueIn(input, keys);
  const { expects, secret, hidden } = facts;
  if (value === undefined) return `is missing; it is ${expects}.`;
  const isQuoted = !secret && !hidden && (!isInEntry || facts.variable !== undefined);
  const got = isQuoted ? `; it is ${shown(value)}` : "";
  const quotes = typeof value === "number" && bare(reached) instanceof z.ZodString ? " Put it in quotes." : "";
  return `must be ${expects}${got}.${quotes}`;
}

/**
 * Where to cut the input so that it has a fault no longer.
 * @returns the keys of the setting, or those of the entry that it is a part of, if entries there have settings that
 *   must be given
 */
export function cutsOf(schema: z.ZodType, issue: z.core.$ZodIssue): readonly (readonly string[])[] {
  const { keys } = follow(schema, issue.path);
  for (const depth of keys.keys()) {
    const outer = bare(follow(schema, keys.slice(0, depth)).reached);
    if (outer instanceof z.ZodRecord && !(outer.valueType instanceof z.ZodPrefault)) return [keys.slice(0, depth + 1)];
  }
  return issue.code === "unrecognized_keys" ? issue.keys.map((key) => [...keys, key]) : [keys];
}

/** Follows a path to a setting, or to its end. `isInEntry`: it leads into a named entry or a list. */
function follow(schema: z.ZodType, path: readonly PropertyKey[]) {
  let reached = schema;
  let isInEntry = false;
  const keys: string[] = [];
  for (const step of path) {
    const facts = factsOf(reached) ?? factsOf(bare(reached));
    if (facts !== undefined && facts.nameRule === undefined) break;
    keys.push(String(step));
    isInEntry ||= !(bare(reached) instanceof z.ZodObject);
    reached = innerOf(reached, String(step)) ?? z.never();
  }
  return { reached, keys, isInEntry };
}

/** A value for a message; long ones cut, and what stands before the last @ of an address left out. */
function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  const safe = text.replace(/:\/\/.*@/, "://…@");
  return safe.length > 80 ? `${safe.slice(0, 80)}…` : safe;
}
