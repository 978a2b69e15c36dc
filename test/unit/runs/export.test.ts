import { Readable } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { documentOf } from "#fleet/sim/sim-fields.ts";
import { openCsv } from "#intake/csv.ts";
import type { SimDocument } from "#jobs/inventory/contract.ts";
import { exportLines, timeColumns } from "#jobs/inventory/sims.ts";
import { seenSim } from "#jobs/inventory/records/sim-record.ts";
import type { FoundSim } from "#jobs/inventory/store/inventory.ts";

const kept = ["speedClass", "tags", "n"];

function simOf(key: string, record: Readonly<Record<string, unknown>>): FoundSim {
  return { key, sim: seenSim(record, { fields: kept, secrets: new Set(), places: {} }) };
}

function show({ key, sim }: FoundSim): SimDocument {
  return { simId: key, ...documentOf(sim.fields), addedAt: "then", goneAt: null };
}

async function exported(
  batches: readonly (readonly FoundSim[])[],
  ask: { format: "csv" | "ndjson"; columns?: readonly string[] },
): Promise<string> {
  const columns = ["simId", ...kept, ...timeColumns];
  const lines = exportLines(Readable.from(batches.map((batch) => batch.map(show))), { columns, ...ask });
  let text = "";
  for await (const line of lines) text += line;
  return text;
}

async function cellsOf(csv: string): Promise<(readonly string[])[]> {
  const { header, batches } = await openCsv(Readable.from([Buffer.from(csv)]));
  const rows: (readonly string[])[] = [header];
  for await (const batch of batches) rows.push(...batch.map(({ cells }) => cells));
  return rows;
}

/** What a spreadsheet would run, were it at the start of a cell. */
const formulas = ["=1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", '=HYPERLINK("http://x","y")', "＝1"];

describe("CSV exports", () => {
  it("a CSV export has the key, the kept fields, and the times, with objects as JSON", async () => {
    const csv = await exported([[simOf("894", { speedClass: "s1.fast", tags: { site: "a" }, n: 7 })]], {
      format: "csv",
    });
    expect(csv).toBe(
      "simId,speedClass,tags,n,addedAt,updatedAt,updatedBy,seenAt,goneAt\n" +
        '894,s1.fast,"{""site"":""a""}",7,then,,,,\n',
    );
  });

  it("a CSV export has the requested columns, including members of objects by name", async () => {
    const sims = [
      simOf("1", { tags: { site: "berlin", "a.b": "dot" } }),
      simOf("2", { tags: { site: "Lyon, quay 4" }, speedClass: "s1.slow" }),
      simOf("3", {}),
    ];
    const columns = ["tags.site", "simId", "tags.a.b", "speedClass", "none", "goneAt"];
    expect(await cellsOf(await exported([sims], { format: "csv", columns }))).toEqual([
      columns,
      ["berlin", "1", "dot", "", "", ""],
      ["Lyon, quay 4", "2", "", "s1.slow", "", ""],
      ["", "3", "", "", "", ""],
    ]);
  });

  it("a CSV export never shows inherited object properties", async () => {
    const columns = ["constructor", "toString", "__proto__", "constructor.name", "tags.constructor", "tags.toString"];
    const csv = await exported([[simOf("1", { tags: { site: "x" } })]], {
      format: "csv",
      columns: ["simId", ...columns],
    });
    expect(csv.split("\n")[1]).toBe(`1${",".repeat(columns.length)}`);
  });

  it.each(formulas)(
    "a CSV export prevents a spreadsheet from executing %j in a field, a member, or a column name",
    async (text) => {
      const sim = simOf("1", { speedClass: text, tags: { [text]: text } });
      const [header = [], row = []] = await cellsOf(
        await exported([[sim]], { format: "csv", columns: ["simId", "speedClass", `tags.${text}`, text] }),
      );
      for (const cell of [...header, ...row]) expect(cell).not.toMatch(/^\s*[=+\-@＝]|^[\t\r\n]/);
      expect(row[2]).toContain(text.slice(1));
    },
  );

  const unit = fc.constantFrom('"', ",", ";", "\n", "\r", "=", "'", " ", "é", "😀", "x");
  const text = fc.string({ unit, maxLength: 9 });
  const anyFields = fc.record({ speedClass: text, tags: fc.dictionary(text, text, { maxKeys: 3 }) });

  it("a CSV export has one row per SIM with the same number of cells for any fields", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyFields, { maxLength: 8 }), fc.boolean(), async (records, isOneBatch) => {
        const sims = records.map((fields, i) => simOf(String(i), fields));
        const batches = isOneBatch ? [sims] : sims.map((sim) => [sim]);
        const rows = await cellsOf(await exported(batches, { format: "csv" }));
        expect(rows.slice(1).map((cells) => cells[0])).toEqual(sims.map(({ key }) => key));
        expect(new Set(rows.map((cells) => cells.length))).toEqual(new Set([rows[0]?.length]));
      }),
    );
  });

  it("a CSV export without SIMs has only a header", async () => {
    expect(await exported([], { format: "csv", columns: ["simId"] })).toBe("simId\n");
  });
});

describe("NDJSON exports", () => {
  it("an NDJSON export has the platform's values unchanged, including formulas", async () => {
    const records = [
      ...formulas.map((text) => ({ speedClass: text, tags: { [text]: text } })),
      { n: 7, tags: { deep: { x: [1, null] }, "two\nlines": "\u2028" } },
    ];
    const text = await exported(
      records.map((record, i) => [simOf(String(i), record)]),
      { format: "ndjson" },
    );
    const lines = text.split("\n");
    expect(lines.pop()).toBe("");
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(
      records.map((record, i) => ({ simId: String(i), ...record, addedAt: "then", goneAt: null })),
    );
  });

  it("an NDJSON export without SIMs is empty", async () => expect(await exported([], { format: "ndjson" })).toBe(""));
});
