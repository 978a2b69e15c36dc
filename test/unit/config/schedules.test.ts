import { describe, expect, it } from "vitest";
import { freezesSection } from "#config/sections/freezes.ts";
import { schedulesSection } from "#jobs/schedules/config.ts";
import { problemsOf, reading } from "./support.ts";

function faultsOf(yaml: string): Record<string, string> {
  return Object.fromEntries(problemsOf(yaml).map((problem) => problem.split(/: (.*)/s)));
}

/** The settings of an entry, and the fault that is reported at one of them. */
type Faulty = [settings: string, at: string, fault: string | RegExp];

/** All faults of a section with these entries are reported together, each with its path. */
function expectFaults(section: string, faulty: readonly Faulty[]): void {
  const pathOf = (n: number, at: string): string => [section, `e${n}`, at].filter((part) => part !== "").join(".");
  const faults = faultsOf(`${section}:\n${faulty.map(([settings], n) => `  e${n}: { ${settings} }\n`).join("")}`);
  for (const [n, [, at, fault]] of faulty.entries()) {
    expect(faults).toHaveProperty([pathOf(n, at)], fault instanceof RegExp ? expect.stringMatching(fault) : fault);
  }
}

const daily = 'cron: "0 3 * * *"';
const missedFault = "must be `once`, `skip`, or `{ within: 15m }` (a whole number and s, m, h or d).";

const scheduleOf = (settings: string) =>
  reading(schedulesSection)(`schedules: { one: { cron: "0 8 * * 1-5", ${settings} } }`)[0];

describe("schedule settings", () => {
  it("a schedule needs few settings when the defaults apply", () => {
    const usual = { profile: "default", jitterMs: 0, overlap: "skip", missed: "once", frozen: "skip" };
    expect(scheduleOf("timezone: Asia/Tokyo, job: sync")).toMatchObject({
      name: "one",
      ...usual,
      task: { job: "sync", profile: "default" },
      cron: { text: "0 8 * * 1-5", timezone: "Asia/Tokyo" },
    });
  });

  it("schedules are read in the order of the file", () => {
    const schedules = reading(schedulesSection)(`schedules:
  nightly-sync: { cron: "0 3 * * *", timezone: Asia/Tokyo, job: sync }
  stadium-up: { cron: "0 8 * * 1-5", job: apply, where: "tags.site=stadium", speedClass: s1.fast }
  stadium-down: { cron: "0 20 * * 1-5", job: apply, where: "tags.site=stadium", speedClass: s1.slow }
  weekly: { cron: "0 7 * * 1", job: report, file: /data/fleet.json }
  guarded: { cron: "0 7 * * 1", job: sync, pauseAfterFailures: 3 }
`);
    const names = ["nightly-sync", "stadium-up", "stadium-down", "weekly", "guarded"];
    expect(schedules.map(({ name }) => name)).toEqual(names);
  });

  const atStadium = { filter: { text: "tags.site=stadium" } };
  const ofActive = { filter: { text: "tags.site=stadium and status=active" } };
  const fast = { operation: "set-speed-class", set: { speedClass: "s1.fast" } };
  const schedules: [what: string, settings: string, expected: object][] = [
    [
      "changes SIMs",
      "job: apply, where: tags.site=stadium, speedClass: s1.fast, skipUnchanged: true",
      { task: { job: "apply", from: atStadium, ...fast, options: { partial: false, skipUnchanged: true } } },
    ],
    [
      "has two conditions and may fail",
      "job: apply, where: [tags.site=stadium, status=active], speedClass: s1.slow, maxFailures: 5%",
      { task: { from: ofActive, options: { maxFailures: { percent: 5 } } } },
    ],
    [
      "replaces what runs",
      "job: apply, where: status=active, speedClass: s1.slow, overlap: cancel, jitterSeconds: 2.5",
      { overlap: "cancel", jitterMs: 2_500 },
    ],
    [
      "writes a report",
      "job: report, file: /data/fleet.json, missed: skip, frozen: wait",
      { missed: "skip", frozen: "wait", task: { job: "report", file: "/data/fleet.json" } },
    ],
    [
      "is guarded",
      "job: sync, missed: { within: 90m }, pauseAfterFailures: 3",
      { missed: { within: "90m", withinMs: 5_400_000 }, pauseAfterFailures: 3 },
    ],
  ];

  it.each(schedules)("a schedule that %s is read", (_, settings, expected) => {
    expect(scheduleOf(settings)).toMatchObject(expected);
  });

  const faulty: Faulty[] = [
    ['cron: "0 25 * * *", job: sync', "cron", /is not a cron expression: got value 25 .* An example: 0 8/],
    [`${daily}, timezone: Asia/Tokio, job: sync`, "timezone", /Asia\/Tokyo/],
    [`${daily}, job: aply`, "job", /`apply`/],
    [`${daily}, job: apply, where: "tags.site" , speedClass: s1.fast`, "where", /cannot be read/],
    [`${daily}, job: apply, file: x.csv, where: "status=ready", speedClass: s1.fast`, "where", /exactly one/],
    [`${daily}, job: apply, where: "a=b"`, "speedClass", "is missing; set-speed-class needs it."],
    [`${daily}, job: sync, speedClass: s1.fast`, "speedClass", "does not apply to the job sync."],
    [`${daily}, job: rotate, rotation: mqtt`, "rotation", /has to name an entry of rotations/],
    [`${daily}, job: sync, overlap: cancel`, "overlap", /only runs \(job: apply\) can be cancelled/],
    [`${daily}, job: sync, profile: berlin`, "profile", /There is no profile berlin/],
    [`${daily}, job: rotate-authkey`, "job", /authKeys\.default/],
    [`${daily}, job: report`, "file", /is missing/],
    [`job: sync, crown: x`, "cron", /is missing/],
    [`job: sync, crown: x`, "crown", /cron/],
    [`${daily}, job: sync, missed: { within: 15min }`, "missed", missedFault],
    [`${daily}, job: sync, missed: {}`, "missed", missedFault],
    [`${daily}, job: sync, missed: { within: 0m }`, "missed", missedFault],
    [`${daily}, job: sync, missed: later`, "missed", missedFault],
    [`${daily}, job: sync, missed: { within: 15m, twice: true }`, "missed.twice", "There is no such setting."],
    [`${daily}, job: sync, pauseAfterFailures: 0`, "pauseAfterFailures", "must be a whole number from 1 to 1000."],
    [`${daily}, job: sync, pauseAfterFailures: 1.5`, "pauseAfterFailures", "must be a whole number from 1 to 1000."],
  ];

  it("all errors of the schedules are reported together, each with its path", () => expectFaults("schedules", faulty));
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

  const faulty: Faulty[] = [
    ['from: "2026-12-24T00:00:00", to: "2027-01-04T09:00:00+09:00"', "from", /with its offset/],
    ['from: "2027-12-24T00:00:00Z", to: "2027-01-04T09:00:00Z"', "to", "must be later than from."],
    ['from: "2027-12-24T00:00:00Z"', "", "must have from and to together."],
    ['cron: "0 8 * * 1-5"', "", "must have cron and minutes together."],
    ['cron: "0 8 * *", minutes: 5', "cron", /it has 4 fields/],
    ['cron: "0 8 * * *", minutes: 5, profile: tokyo', "profile", /There is no profile tokyo/],
  ];

  it("errors in freezes are reported", () => expectFaults("freezes", faulty));
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
