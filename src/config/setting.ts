/**
 * What the schema of the configuration is composed of: settings, groups of them, and sections of named entries. Each is
 * a zod schema. What zod does not know (the environment variable, the words of messages and of the documentation) is
 * its metadata.
 */
import { z } from "zod";
import { Secret } from "#core/secrets/secret.ts";
import { isPlainObject } from "#core/json.ts";
import { expectedOf, path } from "./value-types.ts";

export interface SettingFacts {
  readonly description: string;
  /** Completes "must be …". */
  readonly expects: string;
  /** The environment variable where its name does not follow from the path, as `variableOf` makes it. */
  readonly variable?: string | undefined;
  /** No message quotes the value. */
  readonly secret?: true;
  /** No message quotes the value, since a part of it may be secret. */
  readonly hidden?: true;
  /** The setting names the file of this secret. */
  readonly fileOf?: string;
  /** In words, what holds where the setting is not given and its default is no constant. */
  readonly fallback?: string;
  /** The setting is a map of named entries, with settings of their own; in words, what a name has to match. */
  readonly nameRule?: string;
}

type MoreFacts = Pick<SettingFacts, "variable" | "secret" | "hidden" | "fileOf" | "fallback">;

export interface Setting {
  /** `<name>` stands for the name of an entry, `[]` for each item of a list. */
  readonly path: string;
  readonly schema: z.ZodType;
  readonly facts: SettingFacts;
  /** The environment variable; absent for a part of a named entry. */
  readonly variable: string | undefined;
}

/**
 * A value of the configuration.
 * @param type one of value-types.ts: as it is where the setting has to be given, else optional or with a default
 */
export function setting<T extends z.ZodType>(type: T, description: string, more: MoreFacts = {}): T {
  const facts = { description, expects: expectedOf(bare(type)), ...more };
  // A type with words of its own may be that of other settings as well.
  if (z.globalRegistry.has(type)) return type.meta(facts);
  z.globalRegistry.add(type, facts);
  return type;
}

/** A secret: the value itself, or with `File` at the end of the key the path of a file that holds it. */
export function secret<K extends string>(
  key: K,
  type: z.ZodString,
  { description, variable, fallback = "none" }: { description: string; variable?: string; fallback?: string },
): Record<K | `${K}File`, z.ZodOptional<z.ZodString>> {
  const fileVariable = variable === undefined ? undefined : `${variable}_FILE`;
  return {
    [key]: setting(type.optional(), description, { variable, secret: true, fallback }),
    [`${key}File`]: setting(path.optional(), `File with \`${key}\`.`, { variable: fileVariable, fileOf: key }),
  } as Record<K | `${K}File`, z.ZodOptional<z.ZodString>>;
}

/** Wraps a secret, if it is given. */
export function secretOf(written: string | undefined): Secret | undefined {
  return written === undefined ? undefined : new Secret(written);
}

/** Settings below one key, which all can be left out. */
export function group<S extends z.ZodRawShape>(shape: S): z.ZodPrefault<z.ZodObject<S, z.core.$strict>> {
  return z.strictObject(shape).prefault({} as never);
}

const usualNames = {
  pattern: /^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9])?$/,
  nameRule: "A name may have letters, digits, - and _, and must start and end with a letter or digit.",
};

/**
 * Named entries. If a part of one is at fault, the rest of it is read if every part can be left out, as in a group.
 * @param names `nameRule` says in words what a name has to match
 */
export function section<T extends z.ZodType>(entry: T, description: string, { pattern, nameRule } = usualNames) {
  const facts = { description, nameRule, expects: "a mapping of names to settings", hidden: true };
  return z.record(z.string().regex(pattern), entry).prefault({}).meta(facts);
}

/** Entries in a list; each has its name among its settings. */
export function listed<T extends z.ZodType>(entry: T, description: string) {
  const facts = { description, expects: "a list of settings", hidden: true, nameRule: "" };
  return z.array(entry).prefault([]).meta(facts);
}

/** Whether exactly one of these keys is given, to be refined with. */
export function hasOneOf(...keys: readonly string[]): (value: unknown) => boolean {
  return (value) => isPlainObject(value) && keys.filter((key) => value[key] !== undefined).length === 1;
}

/** The parameters of a refinement that speaks also where another value of the mapping is at fault. */
export function says(message: string) {
  return { error: message, when: ({ value }: { readonly value: unknown }): boolean => isPlainObject(value) };
}

const wrappers: readonly string[] = ["optional", "nullable", "default", "prefault"];

/** The schema of what is written, without what allows it to be left out and without what becomes of it. */
export function bare(schema: z.ZodType): z.ZodType {
  if (schema.type === "pipe") return bare((schema as z.ZodPipe<z.ZodType>).in);
  return wrappers.includes(schema.type) ? bare((schema as z.ZodOptional<z.ZodType>).unwrap()) : schema;
}

/** The metadata of a setting, which a map of named entries is as well; undefined for groups, lists and entries. */
export function factsOf(schema: z.ZodType): SettingFacts | undefined {
  const facts = schema.meta();
  return facts?.["expects"] === undefined ? undefined : (facts as unknown as SettingFacts);
}

export function innerOf(schema: z.ZodType, key: string): z.ZodType | undefined {
  const outer = bare(schema);
  if (outer instanceof z.ZodObject) return (outer.shape as Readonly<Record<string, z.ZodType>>)[key];
  if (outer instanceof z.ZodRecord) return outer.valueType as z.ZodType;
  return outer instanceof z.ZodArray ? (outer.element as z.ZodType) : undefined;
}

/** Every setting of a schema, in its order; a map of named entries comes before the settings of its entries. */
export function settingsOf(schema: z.ZodType, at = ""): readonly Setting[] {
  const facts = factsOf(schema);
  const own = facts === undefined ? [] : [{ path: at, schema, facts, variable: variableOf(at, facts) }];
  if (facts !== undefined && facts.nameRule === undefined) return own;
  const outer = bare(schema);
  const below = at === "" ? "" : `${at}.`;
  if (outer instanceof z.ZodArray) return [...own, ...settingsOf(outer.element as z.ZodType, `${at}[]`)];
  if (outer instanceof z.ZodRecord) return [...own, ...settingsOf(outer.valueType as z.ZodType, `${below}<name>`)];
  if (!(outer instanceof z.ZodObject)) return own;
  return Object.entries<z.ZodType>(outer.shape).flatMap(([key, inner]) => settingsOf(inner, below + key));
}

/**
 * The environment variable of what is at a path: `http.adminToken` is `SIMFLEET_HTTP_ADMIN_TOKEN`. Parts of named
 * entries and of lists have none unless their facts name one.
 */
export function variableOf(at: string, facts?: Pick<SettingFacts, "variable">): string | undefined {
  if (facts?.variable !== undefined || /<name>|\[\]/.test(at)) return facts?.variable;
  const words = at.replaceAll(/(?<=[a-z0-9])(?=[A-Z])|\./g, "_");
  return `SIMFLEET_${words.toUpperCase()}`;
}

/** The variables that give the setting at a path: its own, for a secret that of its file, and that of all entries. */
export function variablesOf(schema: z.ZodType, at: string): string[] {
  const [entries, part] = at.split(".<name>");
  const paths = [at, `${at}File`, ...(part === undefined ? [] : [entries])];
  return settingsOf(schema).flatMap((one) => (paths.includes(one.path) ? (one.variable ?? []) : []));
}
