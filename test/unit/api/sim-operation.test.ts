import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { targetOf } from "#api/operations/operation.ts";
import { simOperationCall } from "#api/operations/sims.ts";
import { loadDeployment } from "#config/deployment.ts";
import type { SimOperation } from "#fleet/sim-operation/sim-operation.ts";
import { anyId } from "./hostile-ids.ts";
import { seeds } from "../../support/long.ts";
import { anyText } from "../../support/any-text.ts";

const { simOperations } = loadDeployment("soracom", []);
const key = "8942310022000012345";

function named(name: string): SimOperation {
  const operation = simOperations.get(name);
  if (operation === undefined) throw new Error(`no operation ${name}`);
  return operation;
}

function targetOfRow(name: string, inputs: readonly string[]) {
  return targetOf(simOperationCall(named(name)), { key, inputs });
}

/** The path of a call for a tag of this name, unless the name is rejected. */
function pathOfTag(name: string): string | undefined {
  try {
    return targetOfRow("delete-tag", [name]).path;
  } catch (thrown) {
    expect(thrown).toMatchObject({ code: "PLATFORM_REJECTED" });
    return undefined;
  }
}

describe("SIM operation calls", () => {
  it("a SIM operation call sends its inputs with their types in the body", () => {
    expect(JSON.parse(targetOfRow("set-expiry", ["1801353600000", "suspend"]).body ?? "")).toEqual({
      expiryTime: 1_801_353_600_000,
      expiryAction: "suspend",
    });
    expect(JSON.parse(targetOfRow("put-tag", ["site", "berlin"]).body ?? "")).toEqual([
      { tagName: "site", tagValue: "berlin" },
    ]);
    expect(JSON.parse(targetOfRow("send-sms", ["hi"]).body ?? "")).toEqual({ payload: "hi", encodingType: 1 });
    expect(targetOfRow("activate", []).body).toBeUndefined();
  });

  it("a SIM operation call sends a list input as the entire body", () => {
    const bundles = { ...named("set-bundles"), keyColumn: "simId", path: "/v1/sims/{simId}/bundles" } as const;
    expect(targetOf(simOperationCall(bundles), { key, inputs: ['["a","b"]'] }).body).toBe('["a","b"]');
  });

  it("a SIM operation call percent-encodes an input in the path", () => {
    expect(targetOfRow("delete-tag", ["größe 1#?"]).path).toBe(`/v1/sims/${key}/tags/gr%C3%B6%C3%9Fe%201%23%3F`);
  });

  // Shows S5 for inputs.
  it("a SIM operation path never leaves its template for random inputs", () => {
    fc.assert(
      fc.property(fc.oneof(anyId, anyText({ maxLength: 40 }), fc.webPath()), (text) => {
        const path = pathOfTag(text);
        fc.pre(path !== undefined);
        const url = new URL(path, "https://h.example");
        expect(url.href).toBe(`https://h.example${path}`);
        const segments = url.pathname.split("/");
        expect(decodeURIComponent(segments.pop() ?? "")).toBe(text);
        expect(segments).toEqual(["", "v1", "sims", key, "tags"]);
        expect(decodeURIComponent(path)).not.toMatch(/\/\.{1,2}(?:\/|$)|\\/);
      }),
      { numRuns: seeds(300, 3_000) },
    );
  });
});
