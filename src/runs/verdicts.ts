/** A plan's verdicts, row by row, as a CSV file: the input's columns, then what would become of the row. */
import { csvLine } from "#intake/cell.ts";
import { type FileSurvey, readRows } from "#intake/read-rows.ts";

/** Verdict of one row of a plan. */
export type Verdict = "change" | "duplicate" | "conflict" | "invalid";

export async function* verdictLines(survey: FileSurvey): AsyncGenerator<string> {
  yield csvLine([...survey.header, "verdict", "reason"]);
  for await (const batch of readRows(survey)) {
    for (const { row, duplicateOf } of batch) {
      const cells = survey.header.map((_, i) => row.cells[i] ?? "");
      const repeated = duplicateOf === undefined ? undefined : survey.duplicates.lineOf(duplicateOf);
      const reason = row.problem?.message ?? (repeated === undefined ? "" : `the same as line ${repeated}`);
      yield csvLine([...cells, verdictOf(row.problem?.code, repeated), reason]);
    }
  }
}

function verdictOf(problem: string | undefined, repeated: number | undefined): Verdict {
  if (problem === "conflict") return "conflict";
  if (problem !== undefined) return "invalid";
  return repeated === undefined ? "change" : "duplicate";
}
