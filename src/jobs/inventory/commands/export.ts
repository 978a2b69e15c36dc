/** `simfleet sims export`: the inventory as a file. */
import { Command } from "@commander-js/extra-typings";
import { exportSims } from "../contract.ts";
import { writeResults } from "#jobs/runs/results/results.ts";
import { type Context, choiceOption, withCommon } from "#cli/context.ts";
import type { Output } from "#cli/output.ts";
import { assertFilter, whereOption } from "#cli/where.ts";

type Format = "csv" | "ndjson";

export function exportCommand(context: Context): Command {
  const command = new Command("export")
    .description("export the inventory as CSV (accepted by plan and apply) or as NDJSON with raw values")
    .addOption(choiceOption("--format <format>", "format of the output", ["csv", "ndjson"]).default("csv"))
    .addOption(whereOption("only SIMs that match a filter"))
    .option("--gone", "only SIMs that the platform no longer lists")
    .option("--columns <names>", "comma-separated CSV columns, such as simId,speedClass,tags.site")
    .option("-o, --out <file>", "write to this file atomically (default: stdout)");
  return withCommon(
    command,
    "simfleet sims export --where tags.site=berlin --columns simId,speedClass --out berlin.csv",
  ).action(async (options) => {
    const output = context.output(options);
    const { where, columns, out } = options;
    assertFilter(where);
    const gone = options.gone === true ? "true" : undefined;
    const chosen: Format = options.format === "ndjson" ? "ndjson" : "csv";
    const format = out === undefined && output.isJson ? "ndjson" : chosen;
    await context.connect(options, async ({ client, profile }) => {
      const lines = await client.call(exportSims, { query: { profile, where, gone, columns, format } });
      await give(lines, { output, out, format });
    });
  });
}

async function give(
  lines: AsyncIterable<string>,
  { output, out, format }: { output: Output; out: string | undefined; format: Format },
): Promise<void> {
  if (out !== undefined) {
    await writeResults(out, lines, "Choose another path with --out");
    output.answer({ file: out, format }, (shown) => `Inventory: ${shown.file}`);
  } else if (output.isJson) await giveOneDocument(wholeLines(lines), output);
  else for await (const lot of lines) await output.stream(lot);
}

/** One document, as --json promises; --format ndjson streams without it. */
async function giveOneDocument(lots: AsyncIterable<string>, output: Output): Promise<void> {
  let separator = '{"sims": [\n';
  for await (const lot of lots) {
    await output.stream(separator + lot.trimEnd().replaceAll("\n", ",\n"));
    separator = ",\n";
  }
  await output.stream(`${separator === ",\n" ? "\n" : separator}], "nextCursor": null}\n`);
}

/** Regroups text from the network into chunks that end with a line. */
async function* wholeLines(lots: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = "";
  for await (const lot of lots) {
    const text = rest + lot;
    const end = text.lastIndexOf("\n") + 1;
    rest = text.slice(end);
    if (end > 0) yield text.slice(0, end);
  }
  if (rest !== "") yield rest;
}
