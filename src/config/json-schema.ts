/**
 * The configuration as JSON Schema (draft 7, which editors read), derived from the zod schema. An empty value (`key:`)
 * counts as not given, so that what may be left out may also be null. A rule that JSON Schema cannot state is a
 * refinement in zod: `refinementsOf` lists them, for the documentation.
 */
import { z } from "zod";
import { bare, factsOf } from "./setting.ts";

/** @param schema that of the whole configuration */
export function jsonSchemaOf(schema: z.ZodType): Readonly<Record<string, unknown>> {
  const { $schema, ...rest } = z.toJSONSchema(schema, { target: "draft-07", io: "input", override: adapt });
  return { $schema, title: "Configuration of simfleet", ...rest };
}

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Metadata for messages and documentation, which editors do not know. */
const ownFacts = ["expects", "variable", "secret", "hidden", "fileOf", "fallback", "nameRule"];

function adapt({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: JsonSchema }): void {
  const facts = zodSchema instanceof z.ZodType ? factsOf(zodSchema) : undefined;
  if (facts !== undefined) jsonSchema.description = `${facts.description} Value: ${facts.expects}.`;
  for (const fact of ownFacts) delete jsonSchema[fact];
  const inner = zodSchema instanceof z.ZodType ? bare(zodSchema) : undefined;
  if (inner instanceof z.ZodObject) {
    for (const [key, property] of Object.entries(jsonSchema.properties ?? {})) {
      if (jsonSchema.required?.includes(key) !== true) allowNull(property as JsonSchema);
    }
  }
  // zod leaves it out for draft 7.
  if (inner instanceof z.ZodTuple) jsonSchema.minItems = inner.def.items.length;
  if (inner instanceof z.ZodRecord && inner.valueType instanceof z.ZodPrefault) {
    allowNull(jsonSchema.additionalProperties as JsonSchema);
  }
}

function allowNull(jsonSchema: JsonSchema): void {
  const { type, enum: values, anyOf } = jsonSchema;
  if (typeof type === "string" && type !== "null") (jsonSchema as { type: unknown }).type = [type, "null"];
  if (values !== undefined && !values.includes(null)) jsonSchema.enum = [...values, null];
  if (anyOf?.every((one) => one.type !== "null") === true) jsonSchema.anyOf = [...anyOf, { type: "null" }];
}

/** A rule of the schema that its JSON Schema leaves out. */
export interface Refinement {
  /** `<name>` stands for the name of an entry, `[]` for each item of a list. */
  readonly path: string;
  /** Completes "must be …" for a value, or says what holds for the settings below a key. */
  readonly rule: string;
}

/** Every refinement below a path, in the order of the schema. */
export function refinementsOf(schema: z.ZodType, path = ""): readonly Refinement[] {
  const inner = bare(schema);
  const facts = factsOf(schema);
  const below = path === "" ? "" : `${path}.`;
  if (facts !== undefined) return refinedBy(inner).length > 0 ? [{ path, rule: `must be ${facts.expects}.` }] : [];
  const own = refinedBy(inner).map((refinement) => ({ path, rule: messageOf(refinement) }));
  if (inner instanceof z.ZodArray) return [...own, ...refinementsOf(inner.element as z.ZodType, `${path}[]`)];
  if (inner instanceof z.ZodRecord) {
    return [...own, ...refinementsOf(inner.valueType as z.ZodType, `${below}<name>`)];
  }
  if (!(inner instanceof z.ZodObject)) return own;
  const properties = Object.entries<z.ZodType>(inner.shape);
  return [...own, ...properties.flatMap(([key, value]) => refinementsOf(value, `${below}${key}`))];
}

/** The refinements of a type itself. */
function refinedBy(type: z.ZodType) {
  // oxlint-disable-next-line no-underscore-dangle -- zod has no other name for what a check is
  const checks = (type.def.checks ?? []).map((check) => check._zod.def as z.core.$ZodCustomDef);
  return checks.filter(({ check }) => check === "custom");
}

/** The words that `says` has given to a refinement. */
function messageOf({ error, path }: z.core.$ZodCustomDef): string {
  const said = error?.({} as never);
  const words = typeof said === "string" ? said : "";
  return path === undefined ? words : `${path.join(".")} ${words}`;
}
