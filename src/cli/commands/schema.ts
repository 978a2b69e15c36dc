/** `simfleet schema`: the JSON Schema of the configuration, for editors and other tools. */
import { Command, Option } from "@commander-js/extra-typings";
import { sectionsOf } from "#config/feature-section.ts";
import { schemaWith } from "#config/schema.ts";
import { type Context, addExample } from "../context.ts";
import { z } from "zod";
import { bare, factsOf } from "#config/setting.ts";

export function schemaCommand(context: Context): Command {
  const command = new Command("schema")
    .description("Print the JSON Schema of the configuration, for editors and other tools")
    .addOption(new Option("--json").hideHelp());
  addExample(command, "simfleet schema > simfleet.schema.json");
  return command.action(async () => {
    const schema = schemaWith(await sectionsOf(context.features));
    context.output({ json: true }).answer(jsonSchemaOf(schema), () => "");
  });
}

/**
 * In draft 7, which editors read. An empty value (`key:`) counts as not given, so what may be left out may also be
 * null. The rules that JSON Schema cannot state are refinements in zod.
 * @param schema that of the whole configuration
 */
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
