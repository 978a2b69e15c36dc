import { describe, expect, it } from "vitest";
import { parseCron } from "#fleet/time/cron.ts";
import { type FreezePeriod, freezeAt, freezeTimes } from "#fleet/freeze.ts";

const at = (text: string): number => Date.parse(text);
const yearEnd: FreezePeriod = {
  name: "year-end",
  profile: undefined,
  when: {
    fromMs: at("2026-12-24T00:00:00Z"),
    toMs: at("2027-01-04T00:00:00Z"),
  },
};
const office: FreezePeriod = {
  name: "office",
  profile: "berlin",
  when: {
    opens: parseCron("0 8 * * 1-5", "Europe/Berlin"),
    lengthMs: 600 * 6e4,
  },
};

describe("freezes", () => {
  it("a freeze applies from its start until just before its end", () => {
    const held = { reason: "the freeze year-end", untilMs: at("2027-01-04T00:00:00Z") };
    expect(freezeAt([yearEnd], "any", at("2026-12-23T23:59:59.999Z"))).toBeUndefined();
    expect(freezeAt([yearEnd], "any", at("2026-12-24T00:00:00Z"))).toEqual(held);
    expect(freezeAt([yearEnd], "any", at("2027-01-03T23:59:59.999Z"))).toEqual(held);
    expect(freezeAt([yearEnd], "any", at("2027-01-04T00:00:00Z"))).toBeUndefined();
  });

  it("a recurring freeze starts at each time of its cron expression and applies only to its profile", () => {
    // Monday, 08:00 to 18:00 in Berlin.
    expect(freezeAt([office], "berlin", at("2026-11-23T06:59:59Z"))).toBeUndefined();
    expect(freezeAt([office], "berlin", at("2026-11-23T07:00:00Z"))?.untilMs).toBe(at("2026-11-23T17:00:00Z"));
    expect(freezeAt([office], "berlin", at("2026-11-23T16:59:59Z"))?.untilMs).toBe(at("2026-11-23T17:00:00Z"));
    expect(freezeAt([office], "berlin", at("2026-11-23T17:00:00Z"))).toBeUndefined();
    expect(freezeAt([office], "tokyo", at("2026-11-23T12:00:00Z"))).toBeUndefined();
    expect(freezeAt([office], "berlin", at("2026-11-22T12:00:00Z"))).toBeUndefined();
  });

  it("overlapping freezes extend each other, and the longest one counts", () => {
    const often: FreezePeriod = {
      name: "often",
      profile: undefined,
      when: {
        opens: parseCron("0 * * * *", "UTC"),
        lengthMs: 90 * 6e4,
      },
    };
    expect(freezeAt([often], "any", at("2026-11-23T12:10:00Z"))?.untilMs).toBe(at("2026-11-23T13:30:00Z"));
    const both = freezeAt([often, yearEnd], "any", at("2026-12-25T12:10:00Z"));
    expect(both?.reason).toBe("the freeze year-end");
  });
});

describe("freeze times", () => {
  const of = (times: readonly { name: string; fromMs: number; toMs: number }[]): string[] =>
    times.map(
      ({ name, fromMs, toMs }) =>
        `${name} ${new Date(fromMs).toISOString()} ${new Date(toMs).toISOString().slice(0, 16)}`,
    );

  it("freeze times list current and upcoming freezes in order and omit past ones", () => {
    expect(of(freezeTimes([yearEnd, office], at("2026-11-23T12:00:00Z"), 2))).toEqual([
      "office 2026-11-23T07:00:00.000Z 2026-11-23T17:00",
      "office 2026-11-24T07:00:00.000Z 2026-11-24T17:00",
      "year-end 2026-12-24T00:00:00.000Z 2027-01-04T00:00",
    ]);
    expect(of(freezeTimes([office], at("2026-11-23T17:00:00Z"), 1))).toEqual([
      "office 2026-11-24T07:00:00.000Z 2026-11-24T17:00",
    ]);
    expect(freezeTimes([yearEnd], at("2027-01-04T00:00:00Z"), 3)).toEqual([]);
  });
});
