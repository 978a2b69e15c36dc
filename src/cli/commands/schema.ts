/** `simfleet schema`: the JSON Schema of the configuration, for editors and other tools. */
import { Command } from "@commander-js/extra-typings";
import { jsonSchemaOf } from "#config/json-schema.ts";
import { schemaWith } from "#config/schema.ts";
import type { Context } from "../context.ts";
import { schemaStrings } from "./strings.ts";
import { programStrings } from "../strings.ts";

export function schemaCommand(context: Context): Command {
  const command = new Command("schema")
    .description(schemaStrings.description)
    .option("--json", schemaStrings.json)
    .addHelpText("after", `\n${programStrings.example}\n  simfleet schema > config/simfleet.schema.json`);
  return command.action(() => {
    const schema = schemaWith(context.features.flatMap(({ section }) => section ?? []));
    context.output({ json: true }).answer(jsonSchemaOf(schema), () => "");
  });
}
