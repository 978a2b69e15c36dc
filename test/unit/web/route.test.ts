import { describe, expect, it } from "vitest";
import { hrefOf, routeOf, titleOf, views } from "../../../web/src/pure/route.ts";

describe("an address of the dashboard", () => {
  it.each(views)("leads to %s and back", (view) => {
    expect(routeOf(hrefOf(view))).toEqual({ view, query: {} });
  });

  it("names one thing and a query, whatever characters they have", () => {
    const href = hrefOf("runs", "r-1/ü?#", { outcome: "failed", where: "tags.a=b & c", empty: "", none: undefined });
    expect(routeOf(href)).toEqual({ view: "runs", id: "r-1/ü?#", query: { outcome: "failed", where: "tags.a=b & c" } });
  });

  it("is the fleet where it names nothing that is known", () => {
    for (const hash of ["", "#", "#/", "#/elsewhere/x", "#nonsense"]) expect(routeOf(hash).view).toBe("fleet");
  });

  it("can be spoiled without harm", () => {
    expect(routeOf("#/runs/%E0%A4%A")).toEqual({ view: "runs", id: "%E0%A4%A", query: {} });
  });

  it("gives the window its title", () => {
    expect(titleOf({ view: "new", query: {} })).toBe("New run · simfleet");
    expect(titleOf({ view: "runs", id: "r-1", query: {} })).toBe("Run r-1 · simfleet");
    expect(titleOf({ view: "sims", id: "8942", query: {} })).toBe("SIM 8942 · simfleet");
  });
});
