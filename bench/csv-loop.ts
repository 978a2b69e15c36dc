/**
 * A process that parses a CSV file into arrays and no more: what `bench/million.ts` compares planning with.
 *
 *   node bench/csv-loop.ts FILE
 */
import { createReadStream } from "node:fs";
import { finished } from "node:stream/promises";
import { parse } from "csv-parse";

let rows = 0;
const parser = createReadStream(process.argv[2] ?? "").pipe(parse());
parser.on("data", () => (rows += 1));
await finished(parser);
console.log(rows);
