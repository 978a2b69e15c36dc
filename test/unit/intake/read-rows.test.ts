import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { rowProblemCodes } from "#fleet/run.ts";
import { setSpeedClass } from "#fleet/sim-operation/sim-operation.ts";
import { csvLine } from "#intake/cell.ts";
import { openRows } from "#intake/read-rows.ts";
import type { Row } from "#fleet/run.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const request = { operation: setSpeedClass, set: {} };

const folder = temporaryFolder(afterAll);
let files = 0;

async function fileOf(text: string): Promise<string> {
  const path = join(folder, `${(files += 1)}.csv`);
  await writeFile(path, text);
  return path;
}

/** All rows with what the end of the file shows about them. */
async function rowsOf(path: string, ask: Partial<Parameters<typeof openRows>[1]> = {}) {
  const { batches, late } = await openRows({ path }, { ...request, ...ask });
  const read: Row[] = [];
  for await (const batch of batches) read.push(...batch);
  return read.map(({ duplicateOf, ...row }): { row: Row; weight: number; duplicateOf?: number } => {
    const weight = late.weightOf(row.index);
    if (late.isConflict(row.index)) return { row: { ...row, problem: late.conflictOf(row.index) }, weight };
    return duplicateOf === undefined ? { row, weight } : { row, weight, duplicateOf };
  });
}

type ReadRows = Awaited<ReturnType<typeof rowsOf>>;

function problemsOf(rows: ReadRows): [line: number, code: string][] {
  return rows.flatMap(({ row: { line, problem } }) => (problem === undefined ? [] : [[line, problem.code]]));
}

describe("CSV files read once", () => {
  it("the same SIM with two classes is rejected on every row with all its lines", async () => {
    const rows = await rowsOf(await fileOf("simId,speedClass\nA1,x\nB2,x\nA1,x\nA1,y\n"));
    expect(rows.filter((row) => row.duplicateOf !== undefined)).toEqual([]);
    expect(rows.map(({ row }) => row.problem?.message)).toEqual([
      "The same SIM is given different values on lines 2, 4, 5. Keep one of them.",
      undefined,
      "The same SIM is given different values on lines 2, 4, 5. Keep one of them.",
      "The same SIM is given different values on lines 2, 4, 5. Keep one of them.",
    ]);
  });

  it("a file of ids is accepted with one class for all rows", async () => {
    const rows = await rowsOf("examples/ids-only.csv", { set: { speedClass: "s1.slow" } });
    expect([rows.length, problemsOf(rows)]).toEqual([12, []]);
    expect(rows.every(({ row }) => row.inputs[0] === "s1.slow")).toBe(true);
  });

  it("the example file is valid in every row", async () => {
    const rows = await rowsOf("examples/speed-classes.csv");
    expect([rows.length, problemsOf(rows)]).toEqual([12, []]);
    expect(rows[5]?.row.cells[3]).toBe('5" pole');
  });

  it("the invalid example file is read to its end, with each problem on its line", async () => {
    const rows = await rowsOf("examples/spoiled.csv");
    expect(rows.length).toBe(11);
    expect(problemsOf(rows)).toEqual([
      [3, "cell-count"],
      [4, "key-empty"],
      [5, "key-spreadsheet"],
      [7, "key-invalid"],
      [8, "value-missing"],
      [9, "value-invalid"],
      [10, "conflict"],
      [12, "conflict"],
    ]);
  });

  it("the invalid example file has every kind of problem that a file can have", async () => {
    const kinds = new Set(problemsOf(await rowsOf("examples/spoiled.csv")).map(([, code]) => code));
    expect(kinds).toEqual(new Set(rowProblemCodes.filter((code) => code !== "rejected")));
  });
});

describe("row checks compared with a model", () => {
  const key = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom("A", "B", "C", "'A", " B", "D-1", "89423101234567890") },
    { weight: 1, arbitrary: fc.constantFrom("", "a/b", "8.9E+18", "..") },
    { weight: 2, arbitrary: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/) },
  );
  const speedClass = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom("x", "x", "x", " x", "y") },
    { weight: 1, arbitrary: fc.constantFrom("", "no class") },
  );
  const line = fc.oneof(
    { weight: 9, arbitrary: fc.tuple(key, speedClass, fc.string({ unit: "grapheme-ascii" })) },
    { weight: 1, arbitrary: fc.array(fc.constantFrom("A", "z"), { minLength: 1, maxLength: 4 }) },
  );

  it("any mix of duplicates, conflicts, and errors gets the same results as a simple model", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 60 }), async (lines) => {
        const cells = lines.map((one) => [...one]).filter((row) => row.some((cell) => cell.trim() !== ""));
        fc.pre(cells.length > 0);
        const path = await fileOf(["simId,speedClass,note\n", ...cells.map(csvLine)].join(""));
        const rows = await rowsOf(path);
        const verdicts = rows.map(({ row, duplicateOf }) => row.problem?.code ?? duplicateOf ?? "call");
        expect(verdicts).toEqual(naiveVerdicts(cells));
        const called = rows.filter((_, index) => verdicts[index] === "call");
        expect(called.map(({ weight }) => weight)).toEqual(naiveWeights(verdicts));
      }),
      { numRuns: 300 },
    );
  });
});

/** The plain reading of the rules, in one pass over an array per rule. */
function naiveVerdicts(rows: readonly (readonly string[])[]): (string | number)[] {
  const own = rows.map((cells) => {
    if (cells.length !== 3) return "cell-count";
    const [key, speedClass] = keyAndClass(cells);
    if (key === "") return "key-empty";
    if (key === "8.9E+18") return "key-spreadsheet";
    if (/[^A-Za-z0-9_-]/.test(key)) return "key-invalid";
    if (speedClass === "") return "value-missing";
    return speedClass.includes(" ") ? "value-invalid" : undefined;
  });
  return rows.map((cells, index) => {
    const problem = own[index];
    if (problem) return problem;
    const [key, speedClass] = keyAndClass(cells);
    const same = rows.flatMap((other, at) => (own[at] === undefined && keyAndClass(other)[0] === key ? [at] : []));
    if (same.some((at) => keyAndClass(rows[at] ?? [])[1] !== speedClass)) return "conflict";
    return same[0] === index ? "call" : (same[0] ?? "call");
  });
}

/** How many rows each call is for, given the verdicts of all. */
function naiveWeights(verdicts: readonly (string | number)[]): number[] {
  return verdicts.flatMap((verdict, index) =>
    verdict === "call" ? [1 + verdicts.filter((other) => other === index).length] : [],
  );
}

function keyAndClass(cells: readonly string[]): [string, string] {
  return [(cells[0] ?? "").trim().replace(/^'/, ""), (cells[1] ?? "").trim()];
}
