/** What all lists have in common: columns, order and number of rows. */
import { describe, expect, test } from "vitest";
import { answerList, type List, type ListOptions } from "#cli/list.ts";
import { relativeTime } from "#cli/format.ts";
import { openOutput, table } from "#cli/output.ts";
import { listAudit } from "#jobs/audit/contract.ts";

interface Item {
  readonly at: string;
  readonly who: string | null;
  readonly counts: { readonly done: number };
}

const items: readonly Item[] = [
  { at: "2026-11-20T08:00:00.000Z", who: "b", counts: { done: 900 } },
  { at: "2026-11-20T09:00:00.000Z", who: null, counts: { done: 1_000 } },
  { at: "2026-11-20T10:00:00.000Z", who: "a", counts: { done: 20 } },
];

const list: List<"entries", Item> = {
  name: "entries",
  route: listAudit,
  empty: "None.",
  columns: [{ name: "who" }, { name: "counts.done", heading: "done" }, { name: "half", value: halfOf }],
};

function halfOf({ counts }: Item): number {
  return counts.done / 2;
}

function answer(options: ListOptions, { isJson = false, nextCursor = null as string | null } = {}) {
  const written = { stdout: "", stderr: "" };
  const output = openOutput({
    isJson,
    stdout: { write: (text) => (written.stdout += text) },
    stderr: { write: (text) => (written.stderr += text) },
    words: ["audit", "--who", "token:o'neil", "--cursor", "c-0"],
  });
  answerList(output, { entries: items, nextCursor }, list, options);
  return written;
}

describe("a list", () => {
  test("shows its own columns, and the cursor of the next page", () => {
    expect(answer({}, { nextCursor: "c-1" })).toEqual({
      stdout: "WHO   DONE  HALF\nb      900   450\n-    1,000   500\na       20    10\n",
      stderr: "More: simfleet audit --who 'token:o'\\''neil' --cursor c-1\n",
    });
  });

  test("shows the columns of --columns: computed ones, fields, and members of fields", () => {
    const { stdout } = answer({ columns: ["half", "counts.done", "counts"], limit: 1 });
    expect(stdout).toBe("HALF  DONE  COUNTS\n 450   900  done=900\n");
  });

  test.each([
    ["who", ["a", "b", "-"]],
    ["-who", ["b", "a", "-"]],
    ["counts.done", ["a", "b", "-"]],
    ["-half", ["-", "b", "a"]],
    ["-at", ["a", "-", "b"]],
  ])("sorts by --sort %s, with rows without a value last", (sort, order) => {
    const { stdout } = answer({ columns: ["who"], sort });
    expect(stdout.trim().split("\n").slice(1)).toEqual(order);
  });

  test("sorts and limits the JSON document too, and leaves its items whole", () => {
    const { stdout } = answer({ columns: ["who"], sort: "counts.done", limit: 1 }, { isJson: true });
    expect(JSON.parse(stdout)).toEqual({ entries: [items[2]], nextCursor: null });
  });

  test.each([
    [{ sort: "who" }, "c-1", /there are more rows than --limit/],
    [{ sort: "who", cursor: "c-1" }, null, /leave out --cursor or --sort/],
  ])("refuses to sort a part of itself: %o with the next page %s", (options, nextCursor, message) => {
    expect(() => answer(options, { nextCursor })).toThrow(message);
  });

  test.each([{ columns: ["whoo"] }, { sort: "-whoo" }])(
    "rejects an unknown name in %o with a suggestion",
    (options) => {
      expect(() => answer(options)).toThrow(/^There is no column whoo\. Did you mean who\? Columns: .*counts\.done/);
    },
  );

  test("knows a field of the route that none of its items has", () => {
    expect(answer({ columns: ["exitCode"], limit: 1 }).stdout).toBe("EXIT CODE\n-\n");
  });
});

describe("a table on a terminal", () => {
  const nowMs = Date.parse("2026-11-20T10:00:00Z");
  const rows = [
    ["r-20261120-103045-x7k2m9ab", "a file with a name that is rather long.csv", 12, "2026-11-20T09:57:00.000Z"],
    ["r-20261120-103045-x7k2m9ac", "b.csv", 3_000, "2026-11-20T12:00:01.000Z"],
  ];
  const header = ["run", "name", "rows", "started"];
  const widthOf = (text: string) => Math.max(...text.split("\n").map((line) => line.length));

  test("fits its width: long texts are cut, times are short, and the first column stays whole", () => {
    const text = table(header, rows, { width: 70, nowMs });
    expect(text).toContain("r-20261120-103045-x7k2m9ab  a file with a name that…     12  3 min ago");
    expect(text).toMatch(/b\.csv +3,000 {2}in 2 h$/);
    expect(widthOf(text)).toBeLessThanOrEqual(70);
    const narrow = table(header, rows, { width: 50, nowMs });
    expect(narrow).toMatch(/^run +name +rows$/m);
    expect(widthOf(narrow)).toBeLessThanOrEqual(50);
  });

  test("is whole in a pipe", () => {
    expect(table(header, rows)).toContain("rather long.csv     12  2026-11-20 ");
  });
});

test.each([
  ["2026-11-20T10:00:00.000Z", "now"],
  ["2026-11-20T09:58:30.000Z", "90 s ago"],
  ["2026-11-20T07:50:00Z", "2 h ago"],
  ["2026-11-23T10:00:00Z", "in 3 d"],
  ["2026-08-20T10:00:00Z", undefined],
  ["fleet.csv", undefined],
])("%s is shown as %s", (text, shown) => {
  expect(relativeTime(text, Date.parse("2026-11-20T10:00:00Z"))).toBe(shown);
});
