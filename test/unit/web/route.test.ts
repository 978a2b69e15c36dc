import { describe, expect, it } from "vitest";
import { hrefOf, mainViews, routeOf } from "../../../web/src/pure/route.ts";

describe("dashboard URLs", () => {
  it.each(mainViews)("the dashboard URL of the view %s parses back to it", (view) => {
    expect(routeOf(hrefOf(view))).toEqual({ view, query: {} });
  });

  it("a dashboard URL encodes an id and a query with any characters", () => {
    const href = hrefOf("runs", "r-1/ü?#", { outcome: "failed", where: "tags.a=b & c", empty: "", none: undefined });
    expect(routeOf(href)).toEqual({ view: "runs", id: "r-1/ü?#", query: { outcome: "failed", where: "tags.a=b & c" } });
  });

  it("a dashboard URL without a view leads to the overview, and one of no view to a page that says so", () => {
    for (const hash of ["", "#", "#/", "#/?where=x"]) expect(routeOf(hash).view).toBe("overview");
    for (const hash of ["#/elsewhere/x", "#nonsense", "#/missing"]) expect(routeOf(hash).view).toBe("missing");
  });

  it.each([
    ["#/fleet", { view: "sims", query: {} }],
    ["#/freezes", { view: "schedules", id: "freezes", query: {} }],
    ["#/events?type=run&cause=s-1", { view: "activity", id: "events", query: { type: "run", cause: "s-1" } }],
    ["#/audit?who=token:anna", { view: "activity", id: "audit", query: { who: "token:anna" } }],
    ["#/new?where=a=b", { view: "new", query: { where: "a=b" } }],
  ])("the former dashboard URL %s leads to the place of its content", (hash, route) => {
    expect(routeOf(hash)).toEqual(route);
  });

  it("a malformed dashboard URL is handled without an error", () => {
    expect(routeOf("#/runs/%E0%A4%A")).toEqual({ view: "runs", id: "%E0%A4%A", query: {} });
  });
});
