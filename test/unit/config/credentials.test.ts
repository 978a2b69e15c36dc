import { describe, expect, it } from "vitest";
import { requirePlatform } from "#config/config.ts";
import { loadConfig } from "#config/load.ts";
import type { Environment } from "#config/read-settings.ts";
import { problemsIn } from "./support.ts";

const authKey = { SIMFLEET_AUTH_KEY_ID: "keyId-1", SIMFLEET_AUTH_KEY: "secret-1" };
const root = { SIMFLEET_EMAIL: "a@b.c", SIMFLEET_PASSWORD: "pass-1" };
const subUser = { SIMFLEET_OPERATOR_ID: "OP1", SIMFLEET_USER_NAME: "u", SIMFLEET_PASSWORD: "pass-1" };

describe("credential forms", () => {
  it.each([
    ["auth-key", authKey],
    ["root", root],
    ["root", { ...root, SIMFLEET_MFA_SECRET: "JBSW Y3DP" }],
    ["sub-user", subUser],
  ])("credentials of the form %s are accepted", (kind, env) => {
    expect(loadConfig({ env }).profiles["default"]?.credentials).toMatchObject([{ kind }]);
  });

  it.each<[string, Environment, string[]]>([
    [
      "two forms",
      { ...authKey, ...root },
      [
        "profiles.default.credentials: contain more than one form: SIMFLEET_AUTH_KEY_ID and SIMFLEET_AUTH_KEY; SIMFLEET_EMAIL. Keep one of them.",
      ],
    ],
    [
      "half an AuthKey",
      { SIMFLEET_AUTH_KEY_ID: "keyId-1" },
      [
        "profiles.default.credentials.authKey: is missing next to SIMFLEET_AUTH_KEY_ID. Set it, or SIMFLEET_AUTH_KEY or SIMFLEET_AUTH_KEY_FILE.",
      ],
    ],
    [
      "half a sub-user",
      { SIMFLEET_OPERATOR_ID: "OP1" },
      [
        "profiles.default.credentials.userName: is missing next to SIMFLEET_OPERATOR_ID. Set it, or SIMFLEET_USER_NAME.",
        "profiles.default.credentials.password: is missing next to SIMFLEET_OPERATOR_ID. Set it, or SIMFLEET_PASSWORD or SIMFLEET_PASSWORD_FILE.",
      ],
    ],
    [
      "a password of nobody",
      { SIMFLEET_PASSWORD: "pass-1" },
      ["SIMFLEET_PASSWORD: belongs to an email address, or to an operator ID and a user name."],
    ],
    [
      "one-time codes with an AuthKey",
      { ...authKey, SIMFLEET_MFA_SECRET: "JBSWY3DP" },
      ["SIMFLEET_MFA_SECRET: cannot be combined with an AuthKey. Remove one of them."],
    ],
    [
      "a secret file that is missing, which is not a missing setting as well",
      { SIMFLEET_EMAIL: "a@b.c", SIMFLEET_PASSWORD_FILE: "/no/file" },
      ["SIMFLEET_PASSWORD_FILE: There is no file /no/file."],
    ],
  ])("credentials with an error are reported: %s", (_name, env, wanted) =>
    expect(problemsIn(() => loadConfig({ env }))).toEqual(wanted),
  );
});

describe("settings required to call the platform", () => {
  it("all missing platform settings are reported together", () => {
    expect(problemsIn(() => requirePlatform(loadConfig({ env: {} })))).toEqual([
      "profiles.default.credentials: are required to call the platform. Set SIMFLEET_AUTH_KEY_ID and SIMFLEET_AUTH_KEY, or SIMFLEET_EMAIL and SIMFLEET_PASSWORD, or SIMFLEET_OPERATOR_ID, SIMFLEET_USER_NAME and SIMFLEET_PASSWORD (a secret also as …_FILE).",
      "endpoints.global: is required to call the platform. Set it, or SIMFLEET_ENDPOINT_GLOBAL, or name a platform definition that has it.",
    ]);
  });

  it("a single base address determines the coverage", () => {
    const env = { ...authKey, SIMFLEET_ENDPOINT_JAPAN: "https://jp.example.com" };
    expect(requirePlatform(loadConfig({ env }))).toMatchObject({
      coverage: "jp",
      authEndpoint: "https://jp.example.com",
    });
  });

  it("a coverage requires its own base address", () => {
    const env = { ...authKey, SIMFLEET_ENDPOINT_JAPAN: "https://jp.example.com", SIMFLEET_COVERAGE: "g" };
    expect(problemsIn(() => requirePlatform(loadConfig({ env })))[0]).toContain("endpoints.global: is required");
  });

  it("two base addresses require a coverage or a token verification key", () => {
    const env = { ...authKey, SIMFLEET_DEPLOYMENT: "soracom" };
    expect(problemsIn(() => requirePlatform(loadConfig({ env })))[0]).toContain(
      "profiles.default.coverage: is required",
    );
    const verified = loadConfig({ env: { ...env, SIMFLEET_JWKS_URL: "https://example.com/jwks" } });
    expect(requirePlatform(verified).coverage).toBeUndefined();
  });

  it("an unknown profile is reported with the known profiles", () => {
    expect(problemsIn(() => requirePlatform(loadConfig({ env: authKey }), "plant"))).toEqual([
      "profiles.plant: There is no such profile; known: default.",
    ]);
  });
});
