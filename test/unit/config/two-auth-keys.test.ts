import { describe, expect, it } from "vitest";
import { loadConfig } from "#config/load.ts";
import type { Environment } from "#config/read-settings.ts";
import { liveSecrets } from "#core/secrets/secret.ts";
import { fileOf, load, problemsOf } from "./support.ts";

/** The AuthKeys of the selected profile as `id=secret`. */
function keysOf(env: Environment, yaml = ""): string[] {
  const config = load(yaml, env);
  return (config.profiles[config.profile]?.credentials ?? []).map((form) =>
    form.kind === "auth-key" ? `${form.authKeyId}=${form.authKey.reveal()}` : form.kind,
  );
}

const first = { SIMFLEET_AUTH_KEY_ID: "keyId-1", SIMFLEET_AUTH_KEY: "secret-1" };
const second = { SIMFLEET_AUTH_KEY_ID_2: "keyId-2", SIMFLEET_AUTH_KEY_2: "secret-2" };

describe("two AuthKeys", () => {
  it("two AuthKeys from the environment keep their order of preference", () => {
    expect(keysOf({ ...first, ...second })).toEqual(["keyId-1=secret-1", "keyId-2=secret-2"]);
  });

  it("two AuthKeys from the config file have a secret file each", () => {
    const yaml = `profiles: { default: { credentials: { authKeyId: keyId-a, authKeyFile: ${fileOf("secret-a\n")},
      second: { authKeyId: keyId-b, authKeyFile: ${fileOf("secret-b\n")} } } } }`;
    expect(keysOf({}, yaml)).toEqual(["keyId-a=secret-a", "keyId-b=secret-b"]);
  });

  it("two AuthKeys can come from secret files of the environment", () => {
    const env = { SIMFLEET_AUTH_KEY_2_FILE: fileOf("secret-c"), SIMFLEET_AUTH_KEY_ID_2: "keyId-c" };
    expect(keysOf({ ...first, ...env })).toEqual(["keyId-1=secret-1", "keyId-c=secret-c"]);
  });

  it("two identical AuthKeys count as one with a warning", () => {
    const config = loadConfig({ env: { ...first, ...second, SIMFLEET_AUTH_KEY_ID_2: "keyId-1" } });
    expect(config.profiles.default?.credentials).toHaveLength(1);
    expect(config.warnings).toEqual([
      {
        where: "profiles.default.credentials.second",
        message: "is the AuthKey keyId-1, as is the first. One is used.",
      },
    ]);
  });

  it.each<[string, Environment, string]>([
    ["a second one alone", second, "SIMFLEET_AUTH_KEY_ID_2: is the second AuthKey of a profile without a first one."],
    [
      "a second one beside a password",
      { SIMFLEET_EMAIL: "a@b.c", SIMFLEET_PASSWORD: "pass-1", ...second },
      "SIMFLEET_AUTH_KEY_ID_2: is the second AuthKey of a profile without a first one.",
    ],
    [
      "half a second one",
      { ...first, SIMFLEET_AUTH_KEY_ID_2: "keyId-2" },
      "profiles.default.credentials.second.authKey: is missing next to SIMFLEET_AUTH_KEY_ID_2. Set it, or SIMFLEET_AUTH_KEY_2 or SIMFLEET_AUTH_KEY_2_FILE.",
    ],
    [
      "a second secret without an id",
      { ...first, SIMFLEET_AUTH_KEY_2: "secret-2" },
      "profiles.default.credentials.second.authKeyId: is missing next to SIMFLEET_AUTH_KEY_2. Set it, or SIMFLEET_AUTH_KEY_ID_2.",
    ],
  ])("the configuration with %s is rejected", (_, env, problem) => {
    expect(problemsOf("", env)).toEqual([problem]);
  });
});

describe("AuthKey files in JSON", () => {
  const json = '{ "authKeyId": "keyId-j",\n  "authKey": "secret-\\"j" }\n';

  it("an AuthKey file in JSON needs no separate id, and its secret is registered for scrubbing", () => {
    expect(keysOf({ SIMFLEET_AUTH_KEY_FILE: fileOf(json) })).toEqual(['keyId-j=secret-"j']);
    expect(liveSecrets()).toContain('secret-"j');
  });

  it("the id in an AuthKey file overrides a separate id with a warning", () => {
    const config = loadConfig({ env: { SIMFLEET_AUTH_KEY_ID: "keyId-1", SIMFLEET_AUTH_KEY_FILE: fileOf(json) } });
    expect(config.profiles.default?.credentials).toMatchObject([{ authKeyId: "keyId-j" }]);
    expect(config.warnings).toEqual([
      {
        where: "SIMFLEET_AUTH_KEY_ID",
        message: "does not count, since SIMFLEET_AUTH_KEY_FILE names its AuthKey itself. Remove it.",
      },
    ]);
  });

  it.each(['{"authKeyId":"keyId-1"', '{"authKeyId":"keyId-1"}', '{"authKeyId":"a","authKey":"b","c":1}', "{}"])(
    "malformed AuthKey JSON is never used as a secret: %s",
    (text) => {
      expect(problemsOf("", { SIMFLEET_AUTH_KEY_ID: "keyId-1", SIMFLEET_AUTH_KEY_FILE: fileOf(text) })).toEqual([
        "SIMFLEET_AUTH_KEY_FILE: must be text, or a JSON object of `authKeyId` and `authKey` and nothing else.",
      ]);
    },
  );
});

describe("credentials read again", () => {
  it("credentials of a profile are read again without variables meant for another profile", () => {
    const path = fileOf('{"authKeyId":"keyId-p","authKey":"secret-p"}');
    const yaml = `profiles: { default: {}, plant: { credentials: { authKeyFile: ${path} } } }`;
    const { profiles } = load(yaml, first);
    expect(profiles.plant?.secrets).toMatchObject({ files: [path] });
    expect(profiles.plant?.secrets.read()).toMatchObject([{ authKeyId: "keyId-p" }]);
    expect(profiles.default?.secrets.files).toEqual([]);
  });
});
