import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rowProblemCodes } from "#fleet/run.ts";
import { setSpeedClass } from "#fleet/sim-operation/sim-operation.ts";
import { csvLine } from "#intake/cell.ts";
import { type ResolvedRow, readRows, surveyFile } from "#intake/read-rows.ts";

const request = { operation: setSpeedClass, set: {} };

let folder: string;
let files = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "simfleet-intake-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function fileOf(text: string): Promise<string> {
  const path = join(folder, `${(files += 1)}.csv`);
  await writeFile(path, text);
  return path;
}

async function rowsOf(path: string, ask: Partial<Parameters<typeof surveyFile>[1]> = {}) {
  const survey = await surveyFile({ path }, { ...request, ...ask });
  const rows: ResolvedRow[] = [];
  for await (const batch of readRows(survey)) rows.push(...batch);
  return { survey, rows };
}

describe("CSV files read twice", () => {
  it("the same SIM twice with one class shares one call", async () => {
    const { survey, rows } = await rowsOf(await fileOf("simId,speedClass\nA1,x\nB2,x\n'A1, x\n"));
    expect(survey.counts).toEqual({
      rows: 3,
      valid: 3,
      invalid: 0,
      duplicates: 1,
      calls: 2,
      byProblem: {},
    });
    expect(rows.map((row) => row.duplicateOf)).toEqual([undefined, undefined, 0]);
  });

  it("the same SIM with two classes is rejected on every row with all its lines", async () => {
    const { survey, rows } = await rowsOf(await fileOf("simId,speedClass\nA1,x\nB2,x\nA1,x\nA1,y\n"));
    expect(survey.counts).toMatchObject({
      valid: 1,
      invalid: 3,
      duplicates: 0,
      byProblem: { conflict: 3 },
    });
    expect(rows.filter((row) => row.duplicateOf !== undefined)).toEqual([]);
    expect(rows.map(({ row }) => row.problem?.message)).toEqual([
      "The same SIM is given different values on lines 2, 4, 5. Keep one of them.",
      undefined,
      "The same SIM is given different values on lines 2, 4, 5. Keep one of them.",
      "The same SIM is given different values on lines 2, 4, 5. Keep one of them.",
    ]);
  });

  it("a conflict on many lines names the first five", async () => {
    const path = await fileOf(`simId,speedClass\n${"A1,x\n".repeat(9)}A1,y\n`);
    const { survey } = await rowsOf(path);
    expect(survey.problems[9]?.message).toContain("on lines 2, 3, 4, 5, 6, …. Keep");
  });

  it("a file of ids is accepted with one class for all rows", async () => {
    const { survey, rows } = await rowsOf("examples/ids-only.csv", { set: { speedClass: "s1.slow" } });
    expect(survey.counts).toMatchObject({ rows: 12, valid: 12, calls: 12 });
    expect(rows.every(({ row }) => row.inputs[0] === "s1.slow")).toBe(true);
  });

  it("the example file is valid in every row", async () => {
    const { survey, rows } = await rowsOf("examples/speed-classes.csv");
    expect(survey.counts).toMatchObject({ rows: 12, valid: 12 });
    expect(rows[5]?.row.cells[3]).toBe('5" pole');
  });

  it("the invalid example file has every kind of problem", async () => {
    const { survey } = await rowsOf("examples/spoiled.csv");
    expect(survey.counts).toMatchObject({ rows: 11, valid: 3 });
    expect(Object.keys(survey.counts.byProblem).toSorted()).toEqual(
      rowProblemCodes.filter((code) => code !== "not-allowed").toSorted(),
    );
    expect(survey.problems.map(({ line, code }) => [line, code])).toEqual([
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

  it("only the first problems are kept, in file order", async () => {
    const path = await fileOf("simId,speedClass\nA,x\n!,x\nA,y\n!,x\n");
    const { survey } = await rowsOf(path, { problemLimit: 3 });
    expect(survey.problems.map(({ line, code }) => [line, code])).toEqual([
      [2, "conflict"],
      [3, "key-invalid"],
      [4, "conflict"],
    ]);
    expect(survey.counts.invalid).toBe(4);
  });

  it("a header without rows is refused", async () => {
    await expect(rowsOf(await fileOf("simId,speedClass\n\n"))).rejects.toThrow("The file has a header but no rows.");
  });

  it.each([
    ["grows", "simId,speedClass\nA,x\nB,x\nC,x\n"],
    ["shrinks", "simId,speedClass\nA,x\n"],
    ["changes in one cell", "simId,speedClass\nA,x\nB,y\n"],
  ])("a file that %s between the two readings is refused", async (_name, text) => {
    const path = await fileOf("simId,speedClass\nA,x\nB,x\n");
    const survey = await surveyFile({ path }, request);
    await writeFile(path, text);
    const reading = async () => {
      for await (const batch of readRows(survey)) expect(batch.length).toBeGreaterThan(0);
    };
    await expect(reading()).rejects.toThrow(`The file ${path} has changed while it was read.`);
  });
});

describe("row checks compared with a model", () => {
  const key = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.constantFrom("A", "B", "C", "'A", " B", "D-1", "89423101234567890"),
    },
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
        const { survey, rows } = await rowsOf(path);
        const verdicts = rows.map(({ row, duplicateOf }) => row.problem?.code ?? duplicateOf ?? "call");
        expect(verdicts).toEqual(naiveVerdicts(cells));
        const count = (wanted: (verdict: string | number) => boolean) => verdicts.filter(wanted).length;
        expect(survey.counts).toMatchObject({
          rows: cells.length,
          calls: count((verdict) => verdict === "call"),
          duplicates: count((verdict) => typeof verdict === "number"),
        });
        expect(survey.problems.map((fault) => [fault.index, fault.code])).toEqual(
          rows.flatMap(({ row }) => (row.problem ? [[row.index, row.problem.code]] : [])),
        );
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

function keyAndClass(cells: readonly string[]): [string, string] {
  return [(cells[0] ?? "").trim().replace(/^'/, ""), (cells[1] ?? "").trim()];
}
