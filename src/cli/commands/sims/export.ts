/** `simfleet sims export`: the inventory as a file. */
import { Command, Option } from "@commander-js/extra-typings";
import { writeResults } from "#runs/results.ts";
import { type Context, withCommon } from "../../context.ts";
import { filterOf, whereOption } from "../../where.ts";

export function exportCommand(context: Context): Command {
  const command = new Command("export")
    .description("write the inventory as CSV (plan and apply take it) or as NDJSON with raw values")
    .addOption(new Option("--format <format>", "what to write").choices(["csv", "ndjson"]).default("csv"))
    .addOption(whereOption("only SIMs that a filter means; repeatable, all have to hold"))
    .option("--gone", "SIMs that the platform no longer lists, instead")
    .option("--columns <names>", "columns of the CSV with commas between, such as simId,speedClass,tags.site")
    .option("--out <file>", "write to this file, whole or not at all (default: stdout)");
  return withCommon(
    command,
    "simfleet sims export --where tags.site=berlin --columns simId,speedClass --out berlin.csv",
  ).action(async (options) => {
    const output = context.output(options);
    const config = context.config(options);
    const filter = filterOf(options.where);
    await context.withApp(config, async (app) => {
      const ask = {
        filter,
        standing: options.gone === true ? ("gone" as const) : ("listed" as const),
        columns: options.columns?.split(",").map((name) => name.trim()),
      };
      const format = options.format === "ndjson" ? "ndjson" : "csv";
      if (options.out !== undefined) {
        const out = options.out;
        await writeResults(out, app.sims.export(config.profile, { ...ask, format }), "Choose another place with --out");
        output.answer({ file: out, format }, () => `Inventory: ${out}`);
      } else if (output.isJson) {
        // One document, as everywhere with --json; --format ndjson streams without it.
        let separator = '{"sims": [\n';
        for await (const lines of app.sims.export(config.profile, { ...ask, format: "ndjson" })) {
          await output.stream(separator + lines.trimEnd().replaceAll("\n", ",\n"));
          separator = ",\n";
        }
        await output.stream(`${separator === ",\n" ? "\n" : separator}], "nextCursor": null}\n`);
      } else {
        for await (const lines of app.sims.export(config.profile, { ...ask, format })) await output.stream(lines);
      }
    });
  });
}
