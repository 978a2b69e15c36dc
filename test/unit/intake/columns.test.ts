import { describe, expect, it } from "vitest";
import { IntakeError } from "#core/errors.ts";
import type { RowProblemCode } from "#fleet/run.ts";
import { operationFor, setSpeedClass } from "#fleet/sim-operation/sim-operation.ts";
import { matchColumns, readRow, type RowRequest, withoutContent } from "#intake/columns.ts";

const sims: RowRequest = { operation: setSpeedClass, set: {} };
const subscribers: RowRequest = { operation: operationFor(setSpeedClass, "subscribers"), set: {} };

function refusal(header: string[], wanted: Parameters<typeof matchColumns>[1]): string {
  try {
    matchColumns(header, wanted);
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(IntakeError);
    return (thrown as IntakeError).message;
  }
  throw new Error("was not refused");
}

describe("CSV headers", () => {
  it.each([
    ["simId", "speedClass"],
    ["SIM ID", "speed_class"],
    [" sim_id ", "Speed-Class"],
    ["SIMID", "SPEED CLASS"],
  ])("the columns %j and %j are found regardless of case and separators", (key, speedClass) => {
    expect(matchColumns(["site", key, speedClass], sims)).toMatchObject({
      keyAt: 1,
      inputs: [{ field: { name: "speedClass" }, at: 2 }],
      keyColumn: "simId",
    });
  });

  it.each([["ICCID"], ["simId", "iccid"], ["iccid", "SIM ID"]])(
    "a column iccid holds SIM IDs where no simId is: %j",
    (...header) => {
      const keyAt = Math.max(
        0,
        header.findIndex((name) => /^sim/i.test(name)),
      );
      expect(matchColumns([...header, "speedClass"], sims)).toMatchObject({ keyAt, keyColumn: "simId" });
    },
  );

  it("the earlier API wording uses the imsi column, even beside a simId column", () => {
    expect(matchColumns(["simId", "IMSI", "speedClass"], subscribers)).toMatchObject({
      keyAt: 1,
      keyColumn: "imsi",
    });
  });

  it("a speed class for all rows makes its column unnecessary", () => {
    expect(matchColumns(["simId"], { ...sims, set: { speedClass: "s1.fast" } })).toMatchObject({
      inputs: [{ field: { name: "speedClass" }, value: "s1.fast" }],
    });
  });

  it.each<[string, string[], Parameters<typeof matchColumns>[1], string]>([
    ["no key column", ["id", "speedClass", ""], sims, 'no column simId. Columns found: id, speedClass, "". '],
    ["no header at all", ["8942310123456789012", "s1.fast"], sims, "The first line must name the columns."],
    ["no class column", ["simId", "class"], sims, "--speed-class on the command line, speedClass in the API."],
    ["the key column twice", ["simId", "sim id", "speedClass"], sims, "has the column simId more than once:"],
    [
      "a class column and a class for all rows",
      ["simId", "speed class"],
      { ...sims, set: { speedClass: "s1.fast" } },
      'speedClass is given twice: as an option (s1.fast) and as the column "speed class". Drop the option to use the column, or drop the column.',
    ],
    ["an imsi where the wording is sims", ["imsi", "speedClass"], sims, "Set SIMFLEET_WORDING=subscribers to work"],
    [
      "a class for all rows that cannot be one",
      ["simId"],
      { ...sims, set: { speedClass: "very fast" } },
      '"very fast" is not valid for speedClass: letters, digits, dot, - and _ only, at most 64 of them.',
    ],
  ])("a header with an error is refused: %s", (_name, header, wanted, message) =>
    expect(refusal(header, wanted)).toContain(message),
  );
});

describe("CSV rows", () => {
  const columns = matchColumns(["sim id", "speedClass", "site"], sims);
  const read = (cells: string[]) => readRow(columns, 4, { line: 7, cells });

  it.each([
    ["8942310123456789012", "s1.fast"],
    [" 8942310123456789012\t", " s1.fast "],
    ["'8942310123456789012", "s1.fast"],
    [" '8942310123456789012", "\u00a0s1.fast"],
  ])("the values %j and %j are trimmed while the original cells are kept", (key, speedClass) => {
    expect(read([key, speedClass, "x"])).toEqual({
      index: 4,
      line: 7,
      cells: [key, speedClass, "x"],
      key: "8942310123456789012",
      inputs: ["s1.fast"],
    });
  });

  it.each<[string[], RowProblemCode, string, string]>([
    [["1", "s1.fast"], "cell-count", "", "The row has 2 cells where the header has 3. Include empty cells, too."],
    [["1"], "cell-count", "", "The row has 1 cell where the header has 3. Include empty cells, too."],
    [["1", "s1.fast", "a", "b"], "cell-count", "", "Put a cell that contains the delimiter in quotes."],
    [["  ", "s1.fast", ""], "key-empty", "sim id", "The cell sim id is empty."],
    [["'", "s1.fast", ""], "key-empty", "sim id", "The cell sim id is empty."],
    [["8.94231E+18", "s1.fast", ""], "key-spreadsheet", "sim id", "Format the column as text and export again"],
    [["8,94231e+18", "s1.fast", ""], "key-spreadsheet", "sim id", "8,94231e+18 is a spreadsheet's rounding"],
    [["../auth", "s1.fast", ""], "key-invalid", "sim id", '"../auth" cannot be a SIM ID: letters, digits'],
    [
      ["x".repeat(65), "s1.fast", ""],
      "key-invalid",
      "sim id",
      `"${"x".repeat(40)}…" cannot be a SIM ID: letters, digits, - and _ only, at most 64 of them.`,
    ],
    [["1", " ", ""], "value-missing", "speedClass", "The cell speedClass is empty."],
    [["1", "very\nfast", ""], "value-invalid", "speedClass", '"very\\nfast" is not valid for speedClass:'],
  ])("the row %j has the problem %s", (cells, code, column, message) => {
    expect(read(cells).problem).toEqual({ code, column, message: expect.stringContaining(message) as string });
  });

  it.each([
    ["4.4010E+14", "4.4010E+14 is a spreadsheet's rounding of an IMSI; the digits are lost. Format the column as"],
    ["44010-1", '"44010-1" cannot be an IMSI: 5 to 15 digits.'],
  ])("%s is not a valid IMSI", (key, message) => {
    const byImsi = matchColumns(["imsi", "speedClass"], subscribers);
    expect(readRow(byImsi, 0, { line: 2, cells: [key, "s1.fast"] }).problem?.message).toContain(message);
  });
});

it("the apostrophe that a results file adds before a cell such as -slow is removed when submitted again", () => {
  const columns = matchColumns(["simId", "speedClass"], sims);
  const row = readRow(columns, 0, { line: 2, cells: ["8942310123456789012", "'-slow"] });
  expect(row).toMatchObject({ inputs: [""] });
  expect(row.problem).toEqual(readRow(columns, 0, { line: 2, cells: ["8942310123456789012", "-slow"] }).problem);
});

it("a problem whose message has no known words is given without its text", () => {
  const problem = { code: "value-invalid", column: "speedClass", message: "lists no speed class s1.x" } as const;
  expect(withoutContent(problem)).toBe("The cell speedClass has a value that would be rejected.");
});
