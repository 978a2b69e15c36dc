/** `simfleet runs results`: every input row with its outcome. */
import { Command, Option } from "@commander-js/extra-typings";
import type { RunReport } from "#jobs/runs/report.ts";
import { writeResults } from "#jobs/runs/results.ts";
import { type Context, withCommon } from "../../context.ts";
import { outcomeOption } from "./outcome-option.ts";

export function resultsCommand(context: Context): Command {
  const command = new Command("results")
    .description("print the results of a run: every input row with its outcome")
    .argument("<run>", "its id")
    .addOption(outcomeOption("only rows with this outcome; repeatable"))
    .option("--out <file>", "write to this file atomically (default: stdout)")
    .addOption(new Option("--format <format>", "ndjson keeps cells raw").choices(["csv", "ndjson"]).default("csv"));
  return withCommon(command, "simfleet runs results r-20261120-103045-x7k2 --outcome failed --out failed.csv").action(
    async (runId, options) => {
      const output = context.output(options);
      const { outcome: outcomesAsked, out } = options;
      const format = options.format === "ndjson" || (output.isJson && out === undefined) ? "ndjson" : "csv";
      const give = async (report: RunReport, lines: AsyncIterable<string>): Promise<void> => {
        if (out !== undefined) {
          await writeResults(out, lines, "No outcome is lost: choose another path with --out");
          output.answer({ ...report, results: out }, (shown) => `Results: ${shown.results}`);
        } else if (output.isJson) {
          let text = "";
          for await (const lot of lines) text += lot;
          const rows = text.split("\n").filter(Boolean);
          output.answer({ runId, rows: rows.map((row) => JSON.parse(row) as unknown) }, () => "");
        } else {
          for await (const lot of lines) await output.stream(lot);
        }
      };
      await context.ask(options, {
        here: async ({ runs }) =>
          give(await runs.show(runId), runs.results(runId, { format, outcomes: outcomesAsked })),
        there: async (worker) => {
          const lines = worker.text(`/v1/runs/${encodeURIComponent(runId)}/results`, {
            format,
            outcome: outcomesAsked,
          });
          await give(await worker.get<RunReport>(`/v1/runs/${encodeURIComponent(runId)}`), lines);
        },
      });
    },
  ) as unknown as Command;
}
