import { describe, expect, it } from "vitest";
import { dropFolderSection } from "#jobs/drop-folder/config.ts";
import { problemsOf, reading } from "./support.ts";

const load = reading(dropFolderSection);

describe("drop folder settings", () => {
  it("the drop folder settings require only a path", () => {
    expect(load("dropFolder: { path: /data/in }")).toEqual({
      path: "/data/in",
      profile: "default",
      settleMs: 5e3,
      operation: "set-speed-class",
      set: {},
      options: { partial: false },
    });
    expect(load("dropFolder:")).toBeUndefined();
  });

  it("the drop folder settings accept run options from the file or the environment", () => {
    const written =
      "dropFolder: { path: /data/in, name: nightly, speedClass: s1.slow, partial: true, canary: 5, rate: 60, settleSeconds: 1 }";
    const env = { SIMFLEET_DROP_FOLDER_MAX_FAILURES: "5%", SIMFLEET_DROP_FOLDER_SKIP_UNCHANGED: "true" };
    const waves = { ends: [{ rows: 5 }, { percent: 100 }], soakMs: 0 };
    expect(load(written, env)).toMatchObject({
      path: "/data/in",
      name: "nightly",
      operation: "set-speed-class",
      set: { speedClass: "s1.slow" },
      settleMs: 1e3,
      options: { partial: true, skipUnchanged: true, waves, callsPerMinute: 60, maxFailures: { percent: 5 } },
    });
  });

  const putTag = { SIMFLEET_DEPLOYMENT: "soracom", SIMFLEET_DROP_FOLDER_OPERATION: "put-tag" };

  it("the drop folder takes the values of an operation from the environment", () => {
    const env = { ...putTag, SIMFLEET_DROP_FOLDER_SET: "tagName=site, tagValue=a=12" };
    expect(load("dropFolder: { path: in }", env)).toMatchObject({
      operation: "put-tag",
      set: { tagName: "site", tagValue: "a=12" },
    });
  });

  it("a value of the environment that the operation does not have is reported", () => {
    expect(problemsOf("dropFolder: { path: in }", { ...putTag, SIMFLEET_DROP_FOLDER_SET: "tag=site" })).toEqual([
      expect.stringMatching(/^SIMFLEET_DROP_FOLDER_SET, dropFolder\.set\.tag: .*put-tag/),
    ]);
    expect(problemsOf("dropFolder: { path: in }", { ...putTag, SIMFLEET_DROP_FOLDER_SET: "site" })).toEqual([
      expect.stringMatching(/^SIMFLEET_DROP_FOLDER_SET: must be a mapping of inputs to values/),
    ]);
  });

  it("the drop folder uses the selected profile unless it names another", () => {
    const yaml = "profile: plant\nprofiles: { plant: { coverage: g }, other: { coverage: g } }\n";
    expect(load(`${yaml}dropFolder: { path: in }`)?.profile).toBe("plant");
    expect(load(`${yaml}dropFolder: { path: in, profile: other }`)?.profile).toBe("other");
    expect(problemsOf(`${yaml}dropFolder: { path: in, profile: plent }`)).toEqual([
      "dropFolder.profile: There is no profile plent. Did you mean plant?",
    ]);
  });

  it("errors in the drop folder settings are reported", () => {
    expect(problemsOf("dropFolder: { partial: true }")).toEqual([
      "dropFolder.partial: is set without dropFolder.path.",
    ]);
    expect(problemsOf("dropFolder: { pth: /data/in }")[0]).toMatch(
      /^dropFolder.pth: There is no such setting. Did you mean/,
    );
    expect(problemsOf("dropFolder: { path: in }", { SIMFLEET_DROP_FOLDER_PARTIAL: "yes" })[0]).toMatch(
      /^SIMFLEET_DROP_FOLDER_PARTIAL: must be `true` or `false`/,
    );
    expect(problemsOf(`dropFolder: { path: in, speedClass: "a b" }`)).toEqual([
      "dropFolder.speedClass: must be letters, digits, dot, - and _ only, at most 64 of them.",
    ]);
  });
});
