import { describe, expect, it } from "vitest";
import { PlatformError, SimfleetError } from "#core/errors.ts";
import { actionAfter, faultRules, retryRule } from "#engine/fault-policy.ts";

const rules = faultRules({});
const platform = (code: ConstructorParameters<typeof PlatformError>[0], retryAfterMs?: number): PlatformError =>
  new PlatformError(code, "m", { operation: "listSims", retryAfterMs });

describe("the fault policy of durable jobs", () => {
  it("a job sleeps through a short quota wait and postpones a long one without a problem", () => {
    expect(actionAfter(platform("PLATFORM_RATE_LIMITED", 2_000), 0, rules)).toEqual({ kind: "sleep", delayMs: 2_000 });
    const long = { kind: "wait", delayMs: 2_001, isProblem: false, tries: 0, refusal: undefined };
    expect(actionAfter(platform("PLATFORM_RATE_LIMITED", 2_001), 0, rules)).toEqual(long);
  });

  it("a job waits for an operator when the platform rejects the credentials", () => {
    const fault = platform("PLATFORM_UNAUTHORIZED");
    const action = { kind: "wait", delayMs: 30_000, isProblem: true, tries: 0, refusal: fault };
    expect(actionAfter(fault, 0, rules)).toEqual(action);
  });

  it("a job retries an unreachable platform with growing delays and counts the attempts", () => {
    const [first, later] = [0, 5].map((tries) => actionAfter(platform("PLATFORM_UNAVAILABLE"), tries, rules));
    expect(first).toMatchObject({ kind: "wait", isProblem: true, tries: 1 });
    expect(first?.kind === "wait" && first.delayMs).toBeLessThanOrEqual(1_000);
    expect(later).toMatchObject({ kind: "wait", tries: 6 });
    expect(later?.kind === "wait" && later.delayMs).toBeGreaterThanOrEqual(16_000);
    const asked = actionAfter(platform("PLATFORM_UNAVAILABLE", 90_000), 0, rules);
    expect(asked).toMatchObject({ delayMs: 90_000 });
  });

  it("a job gives up on a rejected call and after the last attempt that its rule allows", () => {
    expect(actionAfter(platform("PLATFORM_REJECTED"), 0, rules)).toEqual({ kind: "give-up", reason: "m" });
    const few = faultRules({ SINK_FAILED: { ...retryRule, maxTries: 2 } });
    expect(actionAfter(new SimfleetError("SINK_FAILED", "m"), 0, few)).toMatchObject({ kind: "wait", tries: 1 });
    expect(actionAfter(new SimfleetError("SINK_FAILED", "m"), 1, few)).toEqual({ kind: "give-up", reason: "m" });
  });

  it("a job applies the table's default to an error without a rule but gives up on a hopeless one", () => {
    const all = { hopeless: "give-up", other: { delay: 5 }, PLATFORM_REJECTED: { delay: 7 } } as const;
    expect(actionAfter(new SimfleetError("USAGE", "m"), 0, all)).toEqual({ kind: "give-up", reason: "m" });
    expect(actionAfter(new SimfleetError("STORE_UNAVAILABLE", "m"), 0, all)).toMatchObject({ delayMs: 5 });
    expect(actionAfter(new Error("a bug"), 0, all)).toMatchObject({ delayMs: 5 });
    expect(actionAfter(platform("PLATFORM_REJECTED"), 0, all)).toMatchObject({ delayMs: 7 });
  });

  it("a job throws an error without a rule so that the queue retries it", () => {
    for (const fault of [new Error("a bug"), new SimfleetError("STORE_UNAVAILABLE", "m")]) {
      expect(() => actionAfter(fault, 0, rules)).toThrow(fault);
    }
    const strict = faultRules({ PLATFORM_REJECTED: "throw" });
    expect(() => actionAfter(platform("PLATFORM_REJECTED"), 0, strict)).toThrow("m");
  });
});
