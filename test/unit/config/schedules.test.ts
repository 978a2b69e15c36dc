import { describe, expect, it } from "vitest";
import { freezesSection } from "#config/sections/freezes.ts";
import { schedulesSection } from "#jobs/schedules/config.ts";
import { problemsOf, reading } from "./support.ts";

function faultsOf(yaml: string): Record<string, string> {
  return Object.fromEntries(problemsOf(yaml).map((problem) => problem.split(/: (.*)/s)));
}

const missedFault = "must be `once`, `skip`, or `{ within: 15m }` (a whole number and s, m, h or d).";

describe("schedule settings", () => {
  it("schedules are read with their defaults", () => {
    const { schedules } = reading(schedulesSection)(`
schedules:
  nightly-sync: { cron: "0 3 * * *", timezone: Asia/Tokyo, job: sync }
  stadium-up: { cron: "0 8 * * 1-5", timezone: Asia/Tokyo, job: apply, where: "tags.site=stadium", speedClass: s1.fast, skipUnchanged: true }
  stadium-down: { cron: "0 20 * * 1-5", timezone: Asia/Tokyo, job: apply, where: [tags.site=stadium, status=active], speedClass: s1.slow, maxFailures: 5%, overlap: cancel, jitterSeconds: 2.5 }
  weekly: { cron: "0 7 * * 1", job: report, file: /data/fleet.json, missed: skip, frozen: wait }
  guarded: { cron: "0 7 * * 1", job: sync, missed: { within: 90m }, pauseAfterFailures: 3 }
`);
    const names = ["nightly-sync", "stadium-up", "stadium-down", "weekly", "guarded"];
    expect(schedules.map(({ name }) => name)).toEqual(names);
    expect(schedules[0]).toMatchObject({
      profile: "default",
      jitterMs: 0,
      overlap: "skip",
      missed: "once",
      frozen: "skip",
      task: {
        job: "sync",
        profile: "default",
      },
      cron: {
        text: "0 3 * * *",
        timezone: "Asia/Tokyo",
      },
    });
    expect(schedules[1]?.task).toMatchObject({
      job: "apply",
      from: { filter: { text: "tags.site=stadium" } },
      operation: "set-speed-class",
      set: { speedClass: "s1.fast" },
      options: {
        partial: false,
        skipUnchanged: true,
      },
    });
    expect(schedules[2]).toMatchObject({ overlap: "cancel", jitterMs: 2_500 });
    expect(schedules[2]?.task).toMatchObject({
      from: { filter: { text: "tags.site=stadium and status=active" } },
      options: { maxFailures: { percent: 5 } },
    });
    expect(schedules[3]).toMatchObject({
      missed: "skip",
      frozen: "wait",
      task: { job: "report", file: "/data/fleet.json" },
    });
    expect(schedules[4]).toMatchObject({ missed: { within: "90m", withinMs: 5_400_000 }, pauseAfterFailures: 3 });
  });

  it("all errors of the schedules are reported together, each with its path", () => {
    const faults = faultsOf(`
schedules:
  a: { cron: "0 25 * * *", job: sync }
  b: { cron: "0 3 * * *", timezone: Asia/Tokio, job: sync }
  c: { cron: "0 3 * * *", job: aply }
  d: { cron: "0 3 * * *", job: apply, where: "tags.site" , speedClass: s1.fast }
  e: { cron: "0 3 * * *", job: apply, file: x.csv, where: "status=ready", speedClass: s1.fast }
  f: { cron: "0 3 * * *", job: apply, where: "a=b" }
  g: { cron: "0 3 * * *", job: sync, speedClass: s1.fast }
  h: { cron: "0 3 * * *", job: rotate, rotation: mqtt }
  i: { cron: "0 3 * * *", job: sync, overlap: cancel }
  j: { cron: "0 3 * * *", job: sync, profile: berlin }
  k: { cron: "0 3 * * *", job: rotate-authkey }
  l: { cron: "0 3 * * *", job: report }
  m: { job: sync, crown: x }
  n: { cron: "0 3 * * *", job: sync, missed: { within: 15min } }
  o: { cron: "0 3 * * *", job: sync, missed: {} }
  p: { cron: "0 3 * * *", job: sync, missed: { within: 15m, twice: true } }
  q: { cron: "0 3 * * *", job: sync, missed: { within: 0m } }
  r: { cron: "0 3 * * *", job: sync, missed: later }
  s: { cron: "0 3 * * *", job: sync, pauseAfterFailures: 0 }
  t: { cron: "0 3 * * *", job: sync, pauseAfterFailures: 1.5 }
`);
    expect(faults).toMatchObject({
      "schedules.a.cron": expect.stringMatching(/is not a cron expression: got value 25 .* An example: 0 8/),
      "schedules.b.timezone": expect.stringContaining("Asia/Tokyo"),
      "schedules.c.job": expect.stringContaining("`apply`"),
      "schedules.d.where": expect.stringContaining("cannot be read"),
      "schedules.e.where": expect.stringContaining("exactly one"),
      "schedules.f.speedClass": "is missing; set-speed-class needs it.",
      "schedules.g.speedClass": "does not apply to the job sync.",
      "schedules.h.rotation": expect.stringContaining("has to name an entry of rotations"),
      "schedules.i.overlap": expect.stringContaining("only runs (job: apply) can be cancelled"),
      "schedules.j.profile": expect.stringContaining("There is no profile berlin"),
      "schedules.k.job": expect.stringContaining("authKeys.default"),
      "schedules.l.file": expect.stringContaining("is missing"),
      "schedules.m.cron": expect.stringContaining("is missing"),
      "schedules.m.crown": expect.stringContaining("cron"),
      ...Object.fromEntries(["n", "o", "q", "r"].map((name) => [`schedules.${name}.missed`, missedFault])),
      "schedules.p.missed.twice": "There is no such setting.",
      "schedules.s.pauseAfterFailures": "must be a whole number from 1 to 1000.",
      "schedules.t.pauseAfterFailures": "must be a whole number from 1 to 1000.",
    });
  });
});

describe("freeze settings", () => {
  it("a freeze is read as one period or as recurring times", () => {
    const freezes = reading(freezesSection)(`
freezes:
  year-end: { from: "2026-12-24T00:00:00+09:00", to: "2027-01-04T09:00:00+09:00" }
  office: { cron: "0 8 * * 1-5", minutes: 600, timezone: Europe/Berlin, profile: default }
`);
    expect(freezes).toMatchObject([
      {
        name: "year-end",
        when: { fromMs: Date.parse("2026-12-23T15:00:00Z"), toMs: Date.parse("2027-01-04T00:00:00Z") },
      },
      { name: "office", profile: "default", when: { lengthMs: 36_000_000, opens: { text: "0 8 * * 1-5" } } },
    ]);
  });

  it("errors in freezes are reported", () => {
    expect(
      faultsOf(`
freezes:
  a: { from: "2026-12-24T00:00:00", to: "2027-01-04T09:00:00+09:00" }
  b: { from: "2027-12-24T00:00:00Z", to: "2027-01-04T09:00:00Z" }
  c: { from: "2027-12-24T00:00:00Z" }
  d: { cron: "0 8 * * 1-5" }
  e: { cron: "0 8 * *", minutes: 5 }
  f: { cron: "0 8 * * *", minutes: 5, profile: tokyo }
`),
    ).toMatchObject({
      "freezes.a.from": expect.stringContaining("with its offset"),
      "freezes.b.to": "must be later than from.",
      "freezes.c": "must have from and to together.",
      "freezes.d": "must have cron and minutes together.",
      "freezes.e.cron": expect.stringContaining("it has 4 fields"),
      "freezes.f.profile": expect.stringContaining("There is no profile tokyo"),
    });
  });
});

describe("filters on unknown fields", () => {
  it("a schedule filter on an unknown field is refused with a suggestion", () => {
    const faults = faultsOf(`
schedules:
  all-slow: { cron: "0 3 * * *", job: apply, where: "speedclass!=s1.fast", speedClass: s1.slow }
`);
    expect(faults).toEqual({
      "schedules.all-slow.where": expect.stringContaining("There is no field speedclass. Did you mean speedClass?"),
    });
  });

  it("an automation filter on an unknown SIM or event field is refused with a suggestion", () => {
    const faults = faultsOf(`
automations:
  by-sim: { on: sim.added, where: "Status=active", job: apply, speedClass: s1.slow }
  by-event: { on: sim.changed, where: "event.feild=status", job: sync }
`);
    expect(faults).toEqual({
      "automations.by-sim.where": expect.stringContaining("Did you mean status?"),
      "automations.by-event.where": expect.stringContaining("Did you mean event.field?"),
    });
  });

  it("a filter on a member of a kept field, on an event field, or on the profile's SIM key is accepted", () => {
    const faults = faultsOf(`
profiles: { default: { wording: subscribers } }
inventory: { fields: [status, sessionStatus.online] }
schedules:
  by-member: { cron: "0 3 * * *", job: apply, where: "sessionStatus.online=true and imsi!=001010000000001", speedClass: s1.slow }
automations:
  by-event: { on: [run.completed, sim.gone], where: "event.run exists and failed!=0", job: sync }
`);
    expect(faults).toEqual({});
  });
});
