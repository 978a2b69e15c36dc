import { Readable } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { csvCell, csvLine, defused } from "#intake/cell.ts";
import { openCsv } from "#intake/csv.ts";
import { seeds } from "../../support/long.ts";

// Shows S9.
describe("spreadsheet formulas in cells", () => {
  const formulas: [cell: string, written: string][] = [
    ["=1+1", "'=1+1"],
    ["+1", "'+1"],
    ["+81312345678", "'+81312345678"],
    ["-1+1", "'-1+1"],
    ["@SUM(A1)", "'@SUM(A1)"],
    ["  =1", "'  =1"],
    ["\u00a0=1", "'\u00a0=1"],
    ["\tx", "'\tx"],
    ["\rx", "'\rx"],
    ["\nx", "'\nx"],
    [" \t x", "' \t x"],
    ["＝1", "'＝1"],
    ["-", "'-"],
    ["-cmd|' /C calc'!A0", "'-cmd|' /C calc'!A0"],
    ["x;=1+1;y", "x;'=1+1;y"],
    ["x\t=1+1\ty", "x\t'=1+1\ty"],
    ["x|=1+1|y", "x|'=1+1|y"],
    ["x\n=1+1", "x\n'=1+1"],
    ["x\r\n@SUM(A1)", "x\r\n'@SUM(A1)"],
    ["x;  =1+1", "x;'  =1+1"],
    ["x;\u00a0+1", "x;'\u00a0+1"],
    ['x;"=1+1";y', 'x;\'"=1+1";y'],
    ["x;-1+1;＝1", "x;'-1+1;'＝1"],
    [";;=1", ";;'=1"],
    ["=1;=2", "'=1;'=2"],
    ['"=1', "'\"=1"],
    ["-5;x", "'-5;x"],
  ];

  it.each(formulas)("the formula cell %j is written as the text %j", (text, safe) => expect(defused(text)).toBe(safe));

  const harmless = [
    "",
    "plain",
    "-5",
    "-12.5",
    "8942310",
    "a=b",
    "a-b",
    "'=1",
    "1e5",
    " spaced",
    "x;'=1",
    "a;b=c|d-e",
    "x;-5;y",
    "x\t-1.5",
  ];

  it.each(harmless)("the harmless cell %j is left unchanged", (text) => expect(defused(text)).toBe(text));
});

describe("arbitrary cells", () => {
  const risky = fc.string({ unit: fc.constantFrom(...Array.from("=+-@＝;|,\"'\t\r\n 1a\u00a0")) });

  it("an escaped cell never starts a formula for a reader with another separator or quoting", () => {
    fc.assert(
      fc.property(fc.array(risky, { minLength: 1, maxLength: 4 }), (cells) => {
        const line = csvLine(cells);
        for (const separator of [";", "\t", "|"]) {
          for (const field of line.split(/[\r\n]/).flatMap((part) => part.split(separator))) {
            const bare = field.replace(/^[\s"]+/, "");
            expect(/^[=+@＝]/.test(bare) || /^-(?![0-9]+(?:\.[0-9]+)?"?(?:$|[;\t,]))/.test(bare)).toBe(false);
          }
        }
      }),
      { numRuns: seeds(300, 3_000) },
    );
  });

  it("escaping a cell twice changes nothing so that a results file can be submitted again", () => {
    fc.assert(
      fc.property(risky, (text) => {
        expect(defused(defused(text))).toBe(defused(text));
      }),
    );
  });
});

/** Cells of the rows of a CSV file that is read in pieces of so many bytes, and the lines on which they begin. */
async function readInPieces(text: string, length: number) {
  const bytes = Buffer.from(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / length) }, (_, i) =>
    bytes.subarray(i * length, (i + 1) * length),
  );
  const rows = [];
  for await (const batch of (await openCsv(Readable.from(pieces))).batches) rows.push(...batch);
  return { read: rows.map(({ cells }) => cells), lines: rows.map(({ line }) => line) };
}

describe("CSV writing", () => {
  it.each([
    ["a", "a"],
    ["a,b", '"a,b"'],
    ["a;b", '"a;b"'],
    ['5" pole', '"5"" pole"'],
    ["two\nlines", '"two\nlines"'],
    [" a", '" a"'],
    ["=a,b", '"\'=a,b"'],
  ])("the cell %j is written as %j in CSV", (text, written) => expect(csvCell(text)).toBe(written));

  const cell = fc.oneof(
    fc.string({ unit: "grapheme" }).map((text) => text.replaceAll("\0", "")),
    fc.string({ unit: fc.constantFrom('"', ",", ";", "\t", "\r", "\n", "=", "-", " ", "1", "é", "'") }),
  );
  const rows = fc.array(fc.array(cell, { minLength: 1, maxLength: 5 }), { maxLength: 20 });

  it("any cells round-trip through CSV except for their escaping", async () => {
    await fc.assert(
      fc.asyncProperty(rows, fc.integer({ min: 1, max: 40 }), async (cells, bytes) => {
        const text = [["header", "of", "it"], ...cells].map(csvLine).join("");
        const { read, lines } = await readInPieces(text, bytes);
        expect(read).toEqual(cells.map((row) => row.map(defused)).filter(isFilled));
        expect(lines).toEqual(beginnings(cells));
      }),
      { numRuns: 300 },
    );
  });
});

/** The lines on which the rows that are not blank start, counted the plain way. */
function beginnings(rows: readonly (readonly string[])[]): number[] {
  let line = 2;
  return rows.flatMap((row) => {
    const begins = line;
    line += csvLine(row).split(/\r\n|\r|\n/).length - 1;
    return isFilled(row.map(defused)) ? [begins] : [];
  });
}

function isFilled(row: readonly string[]): boolean {
  return row.some((cell) => cell.trim() !== "");
}
