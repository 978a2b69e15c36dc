import { describe, expect, it } from "vitest";
import { authKeysSection, requireAuthKeyOptions, requireOwner } from "#jobs/authkeys/config.ts";
import { problemsIn, problemsOf, reading } from "./support.ts";

const load = reading(authKeysSection);
const plant = { name: "plant", profile: "plant" };

describe("AuthKey rotation settings", () => {
  it("AuthKey rotation is configured per profile with a default grace period of one day", () => {
    const authKeys = load(`profiles: { default: {}, plant: {} }
authKeys:
  default: { sinks: [{ file: /run/secrets/auth-key }] }
  plant: { sinks: [{ command: [/usr/local/bin/store, plant] }], graceSeconds: 60 }
`);
    expect(authKeys).toEqual({
      default: { sinks: [{ file: "/run/secrets/auth-key" }], graceMs: 86_400_000, profile: "default" },
      plant: {
        sinks: [{ command: ["/usr/local/bin/store", "plant"] }],
        graceMs: 60_000,
        profile: "default",
      },
    });
  });

  it.each<[string, string, string]>([
    [
      "no sink",
      "{ default: { sinks: [] } }",
      "authKeys.default.sinks: must have a sink that is handed the new AuthKey.",
    ],
    [
      "a profile that is not there",
      "{ defualt: { sinks: [{ file: a }] } }",
      "authKeys.defualt: There is no profile defualt. Did you mean default?",
    ],
    [
      "a key that is not there",
      "{ default: { grace: 1, sinks: [{ file: a }] } }",
      "authKeys.default.grace: There is no such setting.",
    ],
  ])("an AuthKey rotation setting with an error is reported: %s", (_, written, problem) => {
    expect(problemsOf(`authKeys: ${written}\n`)).toEqual([problem]);
  });

  it("a missing AuthKey rotation setting is reported with the lines to add", () => {
    const [problem = ""] = problemsIn(() => requireAuthKeyOptions({}, plant, "/etc/simfleet/key"));
    expect(problem).toMatch(/^authKeys\.plant\.sinks: is required/);
    expect(problem).toContain("authKeys:\n        plant:\n          sinks: [{ file: /etc/simfleet/key }]");
    const entry = { sinks: [], graceMs: 1, profile: "default" };
    expect(requireAuthKeyOptions({ plant: entry }, plant, undefined)).toBe(entry);
  });

  it("an entry for a sub-user has a name of its own, and is found by its profile and user", () => {
    const authKeys = load("authKeys: { a: { user: robot, sinks: [{ file: /a }] } }\n");
    expect(requireOwner(authKeys, { profile: "default", user: "robot" })).toEqual({
      name: "a",
      profile: "default",
      user: "robot",
    });
    const [problem = ""] = problemsIn(() => requireOwner(authKeys, { profile: "default", user: "other" }));
    expect(problem).toMatch(/has no entry for the user other of the profile default; add .*\n +authKeys:/);
    expect(problemsOf("authKeys: { default: { user: robot, sinks: [{ file: /a }] } }\n")).toEqual([
      "authKeys.default.user: needs another name for its entry: default is a profile.",
    ]);
    expect(problemsOf("authKeys: { a: { user: robot, profile: none, sinks: [{ file: /a }] } }\n")).toHaveLength(1);
  });
});
