/** `simfleet schema`: the JSON Schema of the configuration, for editors and other tools. */
import { Command } from "@commander-js/extra-typings";
import { jsonSchemaOf } from "#config/json-schema.ts";
import { schemaWith } from "#config/schema.ts";
import type { Context } from "../context.ts";

export function schemaCommand(context: Context): Command {
  const command = new Command("schema")
    .description("print the JSON Schema of the configuration, for editors and other tools")
    .option("--json", "no effect: the schema is always JSON")
    .addHelpText("after", `\nExample:\n  simfleet schema > simfleet.schema.json`);
  return command.action(() => {
    const schema = schemaWith(context.features.flatMap(({ section }) => section ?? []));
    context.output({ json: true }).answer(jsonSchemaOf(schema), () => "");
  });
}
