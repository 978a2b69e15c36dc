/** A plan's verdicts, row by row, as a CSV file: the input's columns, then what would become of the row. */
import { csvLine } from "#intake/cell.ts";
import type { FileSurvey } from "#intake/read-rows.ts";
import { type JudgedRow, type KnownFleet, judgeRows } from "./judge.ts";

export async function* verdictLines(survey: FileSurvey, fleet: KnownFleet): AsyncGenerator<string> {
  yield csvLine([...survey.header, "verdict", "reason", "speedClassBefore", "speedClassAfter"]);
  for await (const batch of judgeRows(survey, fleet)) {
    for (const judged of batch) {
      const { row, verdict, speedClassBefore } = judged;
      const cells = survey.header.map((_, i) => row.cells[i] ?? "");
      const after = row.problem === undefined ? row.speedClass : "";
      yield csvLine([...cells, verdict, reasonOf(judged, survey), speedClassBefore ?? "", after]);
    }
  }
}

function reasonOf({ row, duplicateOf }: JudgedRow, survey: FileSurvey): string {
  if (row.problem !== undefined) return row.problem.message;
  return duplicateOf === undefined ? "" : `the same as line ${survey.duplicates.lineOf(duplicateOf)}`;
}
