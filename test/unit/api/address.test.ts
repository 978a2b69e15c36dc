import { describe, expect, it } from "vitest";
import { parseAddress } from "#api/http/address.ts";

// Shows S6.
describe("an address", () => {
  it.each([
    "http://api.example.com",
    "ftp://127.0.0.1",
    "https://user:pw@api.example.com",
    "api.example.com",
    "https://h.example/?a=1",
  ])("%s is refused, naming its setting", (text) =>
    expect(() => parseAddress(text, "SIMFLEET_ENDPOINT_GLOBAL")).toThrow(/SIMFLEET_ENDPOINT_GLOBAL/),
  );

  it("may be plain HTTP on this machine, and may have a path before /v1", () => {
    expect(parseAddress("http://localhost:8080", "S").origin).toBe("http://localhost:8080");
    expect(parseAddress("http://[::1]:8080/", "S").prefix).toBe("");
    expect(parseAddress("https://gw.example/platform/", "S").prefix).toBe("/platform");
  });
});
