import { describe, expect, it } from "vitest";
import {
  drawnRows,
  fieldOf,
  filterOfShown,
  filterOfSims,
  isNearEnd,
  searchOrFilter,
  shownOf,
  sortableColumns,
} from "../../../web/src/pure/sims/explorer.ts";

describe("the SIM explorer", () => {
  it("the explorer takes the whole filter into a run, or the selected SIMs as long as a filter has room for them", () => {
    expect(filterOfShown(shownOf({}), "simId")).toBe("simId exists");
    expect(filterOfShown(shownOf({ where: "status=active" }), "simId")).toBe("status=active");
    expect(filterOfSims(["8942"], "imsi")).toBe("imsi=8942");
    expect(filterOfSims(["8942", "8943"], "simId")).toBe("simId in (8942, 8943)");
    const keys = Array.from({ length: 200 }, (_, n) => String(8_942_310_000_000_000_000n + BigInt(n)));
    expect(filterOfSims(keys.slice(0, 150), "simId")).toContain(keys[149]);
    expect(filterOfSims(keys, "simId")).toBeUndefined();
  });

  it("the one field of the SIMs takes a part of an ID, and anything else as a filter", () => {
    expect(searchOrFilter(" 8942310 ")).toEqual({ where: "", search: "8942310" });
    expect(searchOrFilter("status=active")).toEqual({ where: "status=active", search: "" });
    expect(searchOrFilter("groupId exists")).toEqual({ where: "groupId exists", search: "" });
    expect(searchOrFilter("")).toEqual({ where: "", search: "" });
  });

  it("a list is sorted by the fields with an index, and by any column if it is short", () => {
    const fields = [
      { name: "simId", values: [], isSortable: true },
      { name: "name", values: [], isSortable: false },
    ];
    const columns = (count: number | undefined) => [...sortableColumns(fields, { count, maxSorted: 100 })];
    expect(columns(101)).toEqual(["simId"]);
    expect(columns(undefined)).toEqual(["simId"]);
    expect(columns(100)).toEqual(["simId", "name", "addedAt", "updatedAt", "updatedBy", "goneAt"]);
  });

  it("a column of the explorer shows a member of an object, also if its name has a dot", () => {
    const sim = { simId: "1", tags: { site: "oslo", "a.b": "x" } };
    expect([
      fieldOf(sim, "tags.site"),
      fieldOf(sim, "tags.a.b"),
      fieldOf(sim, "tags.none"),
      fieldOf(sim, "no.thing"),
    ]).toEqual(["oslo", "x", undefined, undefined]);
  });

  it("a long list draws the rows in sight and some around them, and asks for more before its end is in sight", () => {
    const sight = { scrollTop: 0, height: 410, rowHeight: 41 };
    expect(drawnRows(5, sight)).toEqual({ from: 0, to: 5 });
    expect(drawnRows(1_000_000, { ...sight, scrollTop: 41 * 500_000 })).toEqual({ from: 499_988, to: 500_022 });
    expect(isNearEnd(100, drawnRows(100, sight))).toBe(false);
    expect(isNearEnd(100, drawnRows(100, { ...sight, scrollTop: 41 * 60 }))).toBe(true);
  });
});
