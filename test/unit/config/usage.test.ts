/** The section `usage`, and the job that reads it. */
import { expect, it } from "vitest";
import { schedulesSection } from "#jobs/schedules/config.ts";
import { usageSection } from "#jobs/usage/config.ts";
import { problemsOf, reading } from "./support.ts";

const load = reading(usageSection);
const thresholds = (entry: string): string => `deployment: soracom\nusage: { thresholds: [ ${entry} ] }\n`;

it("thresholds are read in bytes, with a filter for all SIMs by default", () => {
  const much = '{ name: much, over: 500MB, per: month, where: "tags.site=berlin" }';
  expect(load(thresholds(`${much}, { name: day, over: 1.5 GB, per: day }`)).thresholds).toMatchObject([
    { name: "much", over: 500_000_000, per: "month", where: { text: "tags.site=berlin" } },
    { name: "day", over: 1_500_000_000, per: "day", where: { text: "" } },
  ]);
});

it.each([
  ["without a period", "{ name: a, over: 5MB }", /^usage\.thresholds\.0\.per: is missing; it is `day` or `month`\.$/],
  ["with another unit", "{ name: a, over: 5MiB, per: day }", /^usage\.thresholds\.0\.over: must be a number and B, KB/],
  [
    "with the name of another",
    "{ name: a, over: 1B, per: day }, { name: a, over: 2B, per: day }",
    /thresholds\.1\.name: a is the name of another/,
  ],
  [
    "with an unknown field",
    "{ name: a, over: 1B, per: day, where: tag=1 }",
    /^usage\.thresholds\.0\.where: There is no field tag/,
  ],
])("a threshold %s is refused", (_, entry, problem) => {
  expect(problemsOf(thresholds(entry))).toEqual([expect.stringMatching(problem)]);
});

it("a filter can name the key of the SIMs of any profile", () => {
  const profiles = "profiles: { default: { coverage: g }, old: { coverage: jp, wording: subscribers } }\n";
  const entry = '{ name: a, over: 1B, per: day, where: "imsi=440101234567890 or simId=1" }';
  const few = "inventory: { fields: [status] }\n";
  expect(problemsOf(`${profiles}${few}${thresholds(entry)}`)).toEqual([]);
});

it("thresholds can come from the environment", () => {
  const usage = load("deployment: soracom\n", { SIMFLEET_USAGE_THRESHOLDS: "[{ name: a, over: 1KB, per: day }]" });
  expect(usage.thresholds).toMatchObject([{ name: "a", over: 1_000 }]);
});

it("the job usage needs a platform definition that describes the export", () => {
  const schedule = 'schedules: { hourly: { cron: "0 * * * *", job: usage } }\n';
  const schedules = reading(schedulesSection)(`deployment: soracom\n${schedule}`);
  expect(schedules[0]?.task).toEqual({ job: "usage", profile: "default" });
  expect(problemsOf(schedule)).toEqual([
    expect.stringMatching(/^schedules\.hourly\.job: needs operations\.exportUsage/),
  ]);
});

it("filters of schedules can name the usage", () => {
  const job = 'schedules: { slow: { cron: "0 * * * *", job: apply, where: "usage.month!=0", speedClass: s1.slow } }\n';
  expect(problemsOf(`deployment: soracom\n${job}`)).toEqual([]);
});
