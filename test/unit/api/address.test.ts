import { describe, expect, it } from "vitest";
import { routesOf } from "#api/auth/coverage.ts";
import { parseAddress } from "#api/http/address.ts";
import { loadConfig } from "#config/load.ts";

// Shows S6.
describe("platform addresses", () => {
  it.each([
    "http://api.example.com",
    "ftp://127.0.0.1",
    "https://user:pw@api.example.com",
    "api.example.com",
    "https://h.example/?a=1",
  ])("the address %s is refused with the name of its setting", (text) => {
    const env = { SIMFLEET_ENDPOINT_GLOBAL: text };
    expect(() => routesOf(loadConfig({ env }).deployment.endpoints)).toThrow(/SIMFLEET_ENDPOINT_GLOBAL/);
  });

  it("an address may use plain HTTP on localhost and may have a path before /v1", () => {
    expect(parseAddress("http://localhost:8080", "S").origin).toBe("http://localhost:8080");
    expect(parseAddress("http://[::1]:8080/", "S").prefix).toBe("");
    expect(parseAddress("https://gw.example/platform/", "S").prefix).toBe("/platform");
  });
});
