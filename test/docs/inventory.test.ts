import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { conditionsIn, parseFilter } from "#fleet/filter.ts";
import { secretFields, usualFields } from "#fleet/sim/sim-fields.ts";
import { changeTypes } from "#jobs/inventory/contract.ts";

const page = readFileSync(new URL("../../docs/inventory.md", import.meta.url), "utf8");

/** First cells of the table below a heading of a column, without their code marks. */
function firstColumn(heading: string): string[] {
  const lines = page.split("\n");
  const head = lines.findIndex((line) => line.startsWith(`| ${heading} `));
  const end = lines.findIndex((line, at) => at > head && !line.startsWith("|"));
  return lines.slice(head + 2, end).map((line) => /^\| `(.*?)` +\|/.exec(line)?.[1] ?? `no code in ${line}`);
}

/** What stands after --where in the commands, without the shell's quotes. */
const whereTexts = [...page.matchAll(/--where (?:'([^']+)'|([^\s'`]+))/g)].map(
  ([, quoted, bare]) => quoted ?? bare ?? "",
);

describe("docs/inventory.md", () => {
  it.each([...firstColumn("filter"), ...whereTexts])("docs/inventory.md shows a valid filter: %s", (text) => {
    expect(conditionsIn(parseFilter(text).expression)).not.toHaveLength(0);
  });

  it("docs/inventory.md shows each filter operator", () => {
    const shown = firstColumn("filter").map((text) => parseFilter(text).expression);
    const kinds = new Set([...shown, ...shown.flatMap(conditionsIn)].map(({ kind }) => kind));
    const conditions = ["=", "!=", "^=", "<", ">", ">=", "in", "exists", "not exists"];
    expect(kinds).toEqual(new Set([...conditions, "and", "or", "not"]));
    expect(whereTexts.length).toBeGreaterThan(3);
  });

  it("docs/inventory.md names the fields kept by default and every secret that is never kept", () => {
    expect(page.replaceAll("\n", " ")).toContain(`(by default ${usualFields.join(", ")})`);
    for (const name of secretFields) expect(page).toContain(`\`${name}\``);
  });

  it("docs/inventory.md names each kind of change", () => {
    expect(firstColumn("kind").map((kind) => `sim.${kind}`)).toEqual(changeTypes);
  });
});
