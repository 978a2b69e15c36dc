/** The name of a configuration's tasks: what changes it, and what does not. */
import { expect, it } from "vitest";
import { load } from "./support.ts";

const hashOf = (yaml: string): string | undefined =>
  load(yaml, { SIMFLEET_AUTH_KEY_ID: "id", SIMFLEET_AUTH_KEY: "secret" }).tasksHash;

it("a configuration without tasks has no name for them", () => {
  expect([hashOf(""), hashOf("http: { port: 9000 }")]).toEqual([undefined, undefined]);
});

it.each([
  ["schedules", '{ a: { cron: "0 3 * * *", job: sync } }', "0 3", "0 4"],
  ["automations", '{ a: { on: "sim.added", job: apply, speedClass: s1.slow } }', "slow", "fast"],
  ["freezes", '{ a: { cron: "0 18 * * 5", minutes: 60 } }', "60", "61"],
  ["webhooks", '{ a: { url: "https://a.example/1", format: slack, events: ["run.*"] } }', "/1", "/2"],
  ["authKeys", "{ default: { sinks: [{ file: /a }] } }", "/a", "/b"],
  ["dropFolder", "{ path: /a }", "/a", "/b"],
])("a change of %s changes the name, and other settings do not", (section, before, old, changed) => {
  const [one, two] = [hashOf(`${section}: ${before}`), hashOf(`${section}: ${before.replace(old, changed)}`)];
  expect(one).toMatch(/^[0-9a-f]{12}$/);
  expect(two).not.toBe(one);
  expect(hashOf(`logLevel: warn\n${section}: ${before}`)).toBe(one);
});

it("the name tells which profile the drop folder uses, given or not", () => {
  const of = (folder: string, selected: string) =>
    hashOf(`profile: ${selected}\nprofiles: { default: {}, plant: {} }\ndropFolder: { path: /a${folder} }`);
  expect(of("", "plant")).not.toBe(of("", "default"));
  expect(of(", profile: plant", "default")).toBe(of("", "plant"));
});
