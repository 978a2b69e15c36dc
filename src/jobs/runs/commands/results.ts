/** `simfleet runs results`: every input row with its outcome. */
import { Command, Option } from "@commander-js/extra-typings";
import { type Outcome, outcomes } from "#fleet/run.ts";
import { downloadResults, showRun } from "../contract.ts";
import { writeResults } from "../results/results.ts";
import { type Context, choiceOption, oneOf, withCommon } from "#cli/context.ts";

/** The option by which commands take rows with some outcome. */
export function outcomeOption(description: string) {
  return new Option("--outcome <outcome>", description).argParser<Outcome[]>((text, before) => [
    ...(before ?? []),
    oneOf(text, outcomes),
  ]);
}

export function resultsCommand(context: Context): Command {
  const command = new Command("results")
    .description("print the results of a run: every input row with its outcome")
    .argument("<run>", "ID of the run")
    .addOption(outcomeOption("only rows with this outcome; repeatable"))
    .option("-o, --out <file>", "write to this file atomically (default: stdout)")
    .addOption(
      choiceOption(
        "--format <format>",
        "csv escapes cells that a spreadsheet would run as formulas; ndjson has the raw values",
        ["csv", "ndjson"],
      ).default("csv"),
    );
  return withCommon(command, "simfleet runs results r-20261120-103045-x7k2 --outcome failed --out failed.csv").action(
    async (runId, options) => {
      const output = context.output(options);
      const { outcome: outcomesAsked, out } = options;
      const format = options.format === "ndjson" || (output.isJson && out === undefined) ? "ndjson" : "csv";
      await context.connect(options, async ({ client }) => {
        const report = await client.call(showRun, { params: { runId } });
        const lines = await client.call(downloadResults, {
          params: { runId },
          query: { format, outcome: outcomesAsked === undefined ? undefined : [...outcomesAsked] },
        });
        if (out !== undefined) {
          await writeResults(out, lines, "No outcome is lost: choose another path with --out");
          output.answer({ ...report, results: out }, (shown) => `Results: ${shown.results}`);
        } else if (output.isJson) {
          let text = "";
          for await (const batch of lines) text += batch;
          const rows = text.split("\n").filter(Boolean);
          output.answer({ runId, rows: rows.map((row) => JSON.parse(row) as unknown) }, () => "");
        } else {
          for await (const batch of lines) await output.stream(batch);
        }
      });
    },
  ) as unknown as Command;
}
