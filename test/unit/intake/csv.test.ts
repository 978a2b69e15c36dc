import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { IntakeError } from "#core/errors.ts";
import { yieldToEventLoop } from "#core/time.ts";
import { type CsvCaps, type CsvRow, openCsv } from "#intake/csv.ts";

function inPieces(text: string | Buffer, bytes = 1024): Readable {
  const all = Buffer.from(text);
  const count = Math.ceil(all.length / bytes);
  return Readable.from(
    Array.from({ length: count }, (_, i) => all.subarray(i * bytes, (i + 1) * bytes)),
    { objectMode: true },
  );
}

async function read(source: Readable, caps: Partial<CsvCaps> = {}) {
  const csv = await openCsv(source, caps);
  const rows: CsvRow[] = [];
  for await (const batch of csv.batches) rows.push(...batch);
  return { header: csv.header, delimiter: csv.delimiter, rows, fingerprint: csv.fingerprint() };
}

async function faultOf(source: Readable, caps?: Partial<CsvCaps>): Promise<IntakeError> {
  const thrown = await read(source, caps).then(
    () => undefined,
    (fault: unknown) => fault,
  );
  expect(thrown).toBeInstanceOf(IntakeError);
  return thrown as IntakeError;
}

describe("accepted CSV files", () => {
  it("a first line sep=; names the delimiter, and counts as a line", async () => {
    for (const [eol, bytes] of [
      ["\n", 1],
      ["\r\n", 1000],
    ] as const) {
      expect(await read(inPieces(["\uFEFFsep=;", "simId;a,b,c", "1;2"].join(eol), bytes))).toMatchObject({
        header: ["simId", "a,b,c"],
        rows: [{ line: 3, cells: ["1", "2"] }],
      });
    }
  });

  it("a formula of a text, as Excel writes a long number, is the text; a quoted cell stays as it is", async () => {
    const text = 'simId,note\r\n="8942310123456789012",="s1.fast"\r\n1,"=""2"",=",\r\n="3",="4"';
    for (const bytes of [1, 3, 20, 1000]) {
      const { rows } = await read(inPieces(text, bytes));
      expect(rows.map(({ cells }) => cells)).toEqual([
        ["8942310123456789012", "s1.fast"],
        ["1", '="2",=', ""],
        ["3", "4"],
      ]);
    }
  });

  it.each(["\n", "\r\n", "\r"])(
    "a CSV file may use the line break %j, which also counts once inside quotes",
    async (eol) => {
      const text = ["", "a,b", `"1${eol}${eol}2",x`, "", "3,4", ""].join(eol);
      for (const bytes of [1, 2, 3, 5, 1000]) {
        expect((await read(inPieces(text, bytes))).rows).toEqual([
          { line: 3, cells: [`1${eol}${eol}2`, "x"] },
          { line: 7, cells: ["3", "4"] },
        ]);
      }
    },
  );

  it.each([
    [",", "simId,speedClass,a;b"],
    [";", "simId;speedClass;note"],
    ["\t", "simId\tspeedClass"],
    [";", '"a,b,c,d";speedClass'],
    [",", "simId"],
  ])("the delimiter %j is detected from the header %j", async (delimiter, header) => {
    expect((await read(inPieces(`${header}\n`))).delimiter).toBe(delimiter);
  });

  it("the size and digest of a CSV file cover its original bytes", async () => {
    const text = "\uFEFFa,b\r\n1,2\r\n";
    const { fingerprint } = await read(inPieces(text, 3));
    expect(fingerprint).toEqual({
      bytes: Buffer.byteLength(text),
      sha256: createHash("sha256").update(text).digest("hex"),
    });
  });
});

// Shows S8.
describe("refused CSV files", () => {
  it.each<[string, string | Buffer, string, number?]>([
    ["an empty file", "", "The file is empty."],
    ["a file of a byte order mark alone", "\uFEFF", "The file is empty."],
    ["a file of blank lines", "\n\r\n,,\n", "The file has only blank lines."],
    [
      "Latin-1",
      Buffer.from("simId,site\n1,ok\n2,K\xf6ln\n", "latin1"),
      "Line 3 is not valid UTF-8. Open the file in its program and save as UTF-8 CSV.",
      3,
    ],
    [
      "a character cut off at the end",
      Buffer.from([0x61, 0x0a, 0xe6, 0x8b]),
      "Line 2 is not valid UTF-8. Open the file in its program and save as UTF-8 CSV.",
      2,
    ],
    ["UTF-16 with a mark, little end first", Buffer.from("\uFEFFsimId\n", "utf16le"), "This file is UTF-16"],
    ["UTF-16 with a mark, big end first", Buffer.from("\uFEFFsimId\n", "utf16le").swap16(), "is UTF-16"],
    [
      "UTF-16 without a mark",
      Buffer.from("simId\n", "utf16le"),
      "Line 1 contains a NUL byte: this is a binary file or UTF-16, not CSV text. Save as UTF-8 CSV.",
      1,
    ],
    [
      "a NUL byte",
      "a\nb\nc\0d\n",
      "Line 3 contains a NUL byte: this is a binary file or UTF-16, not CSV text. Save as UTF-8 CSV.",
      3,
    ],
    ["an Excel workbook", Buffer.from("PK\x03\x04\x14\0"), "This is an Excel workbook. Export it as CSV."],
    ["an old Excel workbook", Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1]), "This is an old Excel workbook"],
    ["a gzip file", Buffer.from([0x1f, 0x8b, 8, 0, 0]), "This file is compressed (gzip). Unpack it first."],
    [
      "a quote that is never closed",
      'a,b\n1,2\n3,"4\n5,6\n',
      "A quote that opens in the row on line 3 is never closed.",
      3,
    ],
    [
      "text after a closing quote",
      'a,b\n"1"x,2\n',
      "In the row on line 2, text follows a closing quote. A quote inside a quoted cell is written twice.",
      2,
    ],
    [
      "a quote inside an unquoted cell",
      'a,b\n1,5" pole\n',
      "In the row on line 2, there is a quote inside an unquoted cell. Put the whole cell in quotes and write the quote inside twice",
      2,
    ],
  ])("a CSV file is refused: %s", async (_name, content, message, line?) => {
    for (const bytes of [1, 3, 1000]) {
      const fault = await faultOf(inPieces(content, bytes));
      expect(fault.message).toContain(message);
      expect(fault.line).toBe(line);
    }
  });

  it.each<[string, string, Partial<CsvCaps>, string]>([
    ["too many bytes", "a\n1\n2\n", { bytes: 5 }, "The file is larger than 5 bytes. Split it."],
    ["too many rows", "a\n1\n2\n3\n", { rows: 2 }, "The file has more than 2 rows, blank ones included. Split it."],
    ["too many blank lines", "a\n1\n\n \n", { rows: 2 }, "The file has more than 2 rows, blank ones included."],
    ["too many columns", "a,b,c\n", { columns: 2 }, "The header has 3 columns; at most 2 are allowed."],
    ["a record that is too long", `a,b\n1,2\n${"x".repeat(30)},\n`, { recordBytes: 20 }, "line 3 is longer than"],
    ["a record of too many commas", `a,b\n${",".repeat(30)}`, { recordBytes: 20 }, "line 2 is longer than 20 by"],
    ["a header without an end", "a".repeat(30), { recordBytes: 20 }, "line 1 is longer than 20 bytes"],
    ["a record of zeros", `a,b\n1,2\n${"\0".repeat(30)}`, { recordBytes: 20 }, "Line 3 contains a NUL byte"],
  ])("a CSV file over a limit is refused: %s", async (_name, content, caps, message) => {
    for (const bytes of [1, 7, 1000])
      expect((await faultOf(inPieces(content, bytes), caps)).message).toContain(message);
  });

  /** How long this work kept the thread in all, and at most before it let others have a turn. */
  async function timesOf(work: () => Promise<void>) {
    // Time of this thread, since others share its core.
    const cpuMs = (): number => process.threadCpuUsage().user / 1_000;
    const startedMs = cpuMs();
    let [turnedMs, longestMs] = [startedMs, 0];
    const turn = (): void => {
      const nowMs = cpuMs();
      [turnedMs, longestMs] = [nowMs, Math.max(longestMs, nowMs - turnedMs)];
    };
    const watch = setInterval(turn, 1);
    await work().finally(() => clearInterval(watch));
    // Without a turn of others, no timer has run.
    turn();
    return { longestMs, totalMs: turnedMs - startedMs };
  }

  it.each(["\n", " \n", "x\n", ",\n"])(
    "5 MB of lines with %j block the process for less than 200 ms, or an eighth of their time on a slow machine",
    // Now and then the garbage collector takes longer; a parser that blocks does each time.
    { retry: 3 },
    async (line) => {
      const text = Buffer.concat([Buffer.from("a,b\n1,2\n"), Buffer.alloc(5_000_000, line)]);
      const readAll = async (): Promise<void> => {
        const csv = await openCsv(Readable.from([text]), { rows: 1_000_000 });
        for await (const _ of csv.batches);
      };
      const { longestMs, totalMs } = await timesOf(() => expect(readAll()).rejects.toThrow("more than 1000000 rows"));
      expect(longestMs).toBeLessThan(Math.max(200, totalMs / 8));
    },
  );

  function* endlessLines() {
    yield Buffer.from("a,b\n");
    for (;;) yield Buffer.alloc(32_768, "\n");
  }

  it("an abort ends the reading", async () => {
    const abort = new AbortController();
    const csv = await openCsv(Readable.from(endlessLines()), { rows: 1e9, bytes: 1e12 }, abort.signal);
    const reading = csv.batches[Symbol.asyncIterator]().next();
    await yieldToEventLoop();
    abort.abort();
    const abortedMs = performance.now();
    await expect(reading).rejects.toThrow("aborted");
    expect(performance.now() - abortedMs).toBeLessThan(5_000);
  });

  it("a missing file or a folder is refused", async () => {
    await expect(openCsv("/no/such.csv")).rejects.toThrow("There is no file /no/such.csv.");
    await expect(openCsv("/tmp")).rejects.toThrow("/tmp is a folder, not a file.");
  });

  it.each(["x", ",", "\u00e9", '"'])(
    "a line with a gigabyte of %j is refused after reading a few chunks",
    async (filling) => {
      const piece = Buffer.from(filling.repeat(32 * 1024));
      let pieces = 0;
      const endless = Readable.from(
        (function* () {
          yield Buffer.from(filling === '"' ? 'a,b\n1,"x' : "a,b\n1,");
          for (; pieces < 2 ** 15; pieces += 1) yield piece;
        })(),
      );
      expect((await faultOf(endless)).message).toContain("line 2 is longer than 65536 bytes");
      expect(pieces).toBeLessThan(50);
    },
  );
});
