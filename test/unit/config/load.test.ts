import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { describe, expect, it, test } from "vitest";
import { liveSecrets } from "#core/secrets/secret.ts";
import type { Environment } from "#config/read-settings.ts";
import { requirePlatform, requireSeal } from "#config/config.ts";
import { sectionOf } from "#config/feature-section.ts";
import { freezesSection } from "#config/sections/freezes.ts";
import { webhooksSection } from "#jobs/webhooks/config.ts";
import { fileOf, load, loadConfig, problemsIn, problemsOf, reading } from "./support.ts";

describe("the gateway's settings", () => {
  // Shows S10.
  it("an address of the gateway that others can reach needs a token", () => {
    const open = "gateway: { host: 0.0.0.0 }\n";
    expect(problemsOf(open)).toEqual([expect.stringMatching(/^gateway.host: 0.0.0.0 can be reached/)]);
    expect(problemsOf(open, { SIMFLEET_GATEWAY_TOKEN: "t".repeat(32) })).toEqual([]);
  });

  it("the profiles of the gateway and of the inventory must exist", () => {
    for (const section of ["gateway", "inventory"]) {
      const message = `${section}.profile: There is no profile acme`;
      expect(problemsOf(`${section}: { profile: acme }\n`)).toEqual([expect.stringContaining(message)]);
    }
  });
});

describe("maps and lists in variables", () => {
  it("a variable gives a whole section as YAML text, in place of that of the file", () => {
    const yaml = 'freezes: { old: { cron: "0 0 * * *", minutes: 5 } }\n';
    const text = 'release:\n  cron: "0 18 * * 5"\n  minutes: 2880\n  profile:\n';
    const env = { SIMFLEET_FREEZES: text, HOME: "/home/op" };
    expect(reading(freezesSection)(yaml, env).map(({ name }) => name)).toEqual(["release"]);
  });

  it("problems of a section in a variable name the variable and the path, all at once", () => {
    const env = { SIMFLEET_SCHEDULES: "{ a: { cron: nonsense, job: sync } }", SIMFLEET_FREEZES: "{ unclosed" };
    expect(problemsOf("", env)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^SIMFLEET_FREEZES, at its end: /),
        expect.stringMatching(/^SIMFLEET_SCHEDULES, schedules\.a\.cron: /),
      ]),
    );
    expect(problemsOf("", { SIMFLEET_SCHEDULES: "nightly" })).toEqual([
      "SIMFLEET_SCHEDULES: must be a mapping of names to settings.",
    ]);
  });

  it.each(["simId,status", "[simId, status]", "- simId\n- status\n"])("a list can be written as %j", (written) => {
    const config = loadConfig({ env: { HOME: "/home/op", SIMFLEET_INVENTORY_FIELDS: written } });
    expect(config.inventory.fields).toEqual(["simId", "status"]);
  });
});

const unreadable = `
profiles: { default: { coverage: g, credentials: { authKeyId: k, authKeyFile: none } } }
endpoints: { global: https://api.example.com }
seal: { keyFile: none }
http: { adminTokenFile: none }
gateway: { host: 0.0.0.0, tokenFile: none }
webhooks: { ops: { url: https://ops.example.com, secretFile: none, events: ["run.*"] } }
`;

test("a secret that cannot be read is a problem of the commands that need it, and of a worker at once", () => {
  const file = fileOf(unreadable);
  const ofPlatform = "profiles.default.credentials.authKeyFile";
  const places = [ofPlatform, "http.adminTokenFile", "gateway.tokenFile", "webhooks.ops.secretFile", "seal.keyFile"];
  const isOf = (place: string) => expect.stringMatching(`^${place}: There is no file `) as string;
  expect(problemsIn(() => loadConfig({ file, env: {} }))).toEqual(places.map(isOf));
  const config = loadConfig({ file, env: {}, isForCommand: true });
  expect(problemsIn(() => requirePlatform(config))).toEqual([isOf(ofPlatform)]);
  expect(problemsIn(() => requireSeal(config, "It"))).toEqual([isOf("seal.keyFile")]);
  const { ops } = sectionOf(config, webhooksSection);
  expect(problemsIn(() => ops?.secrets())).toEqual([expect.stringContaining("There is no file")]);
});

describe("the proxy of the environment", () => {
  it.each([
    [{}, undefined],
    [{ HTTPS_PROXY: "", NO_PROXY: "x" }, undefined],
    [{ HTTPS_PROXY: "http://a:b%40c@p.example:3128/", NO_PROXY: "x" }, ["http://p.example:3128", "HTTPS_PROXY", "x"]],
    [{ https_proxy: "p.example:3128", HTTPS_PROXY: "http://other" }, ["http://p.example:3128", "https_proxy", ""]],
    [{ HTTP_PROXY: "https://p.example", no_proxy: "y" }, ["https://p.example", "HTTP_PROXY", "y"]],
  ])("is read as other programs do: %j", (env, expected) => {
    const { proxy } = loadConfig({ env: { HOME: "/home/op", ...env } });
    expect(proxy && [proxy.shown, proxy.variable, proxy.except]).toEqual(expected);
  });

  it.each(["socks5://u:hunter2@p.example", "http://u:hunter2%zz@p.example", "http://"])("cannot be %s", (written) => {
    const message =
      "HTTPS_PROXY: must be the address of an http or https proxy, such as http://proxy.example.com:3128.";
    expect(problemsOf("", { HTTPS_PROXY: written })).toEqual([message]);
  });

  it("has a password that no output shows", () => {
    loadConfig({ env: { HOME: "/home/op", HTTPS_PROXY: "http://u:hunter%402@p.example" } });
    expect(liveSecrets()).toContain("hunter@2");
  });
});

describe("defaults and precedence", () => {
  it("a relative path in a variable is below the working folder", () => {
    expect(loadConfig({ env: { SIMFLEET_DATA_DIR: "data" } }).dataDir).toBe(join(process.cwd(), "data"));
  });

  const withPaths = `
dataDir: data
deployment: ./platform.yaml
dropFolder: { path: in }
archive: { path: ../archive }
profiles: { default: { credentials: { authKeyId: k, authKeyFile: key } } }
schedules: { up: { cron: "0 3 * * *", job: apply, file: ./fleet.csv, speedClass: s1.fast } }
automations: { tell: { on: run.completed, job: report, file: report.json } }
rotations:
  one: { type: psk, from: { file: new, field: key }, sinks: [{ file: out }, { command: [./store, out] }, { command: [store] }] }
`;

  /** A configuration with these paths, whose files are there. */
  function setupPaths() {
    const file = fileOf(withPaths);
    const at = (path: string): string => join(dirname(file), path);
    writeFileSync(at("platform.yaml"), "brand: Acme\n");
    writeFileSync(at("key"), "secret-1", { mode: 0o600 });
    return { file, at };
  }

  it("relative paths of the file begin at its folder, wherever the process was started", () => {
    const { file, at } = setupPaths();
    const config = loadConfig({ file: relative(process.cwd(), file), env: {} });
    const sinks = [{ file: at("out") }, { command: [at("store"), "out"] }, { command: ["store"] }];
    expect({ ...config, ...config.sections }).toMatchObject({
      dataDir: at("data"),
      deployment: { brand: "Acme", name: at("platform.yaml") },
      dropFolder: { path: at("in") },
      retention: { archive: at("../archive") },
      profiles: { default: { secrets: { files: [at("key")] } } },
      schedules: [{ task: { from: { file: at("fleet.csv") } } }],
      automations: [{ action: { file: at("report.json") } }],
      rotations: { one: { from: { file: at("new") }, sinks } },
    });
  });

  it.each([{ HOME: "" }, { HOME: "home" }, { HOME: "/home/op", XDG_DATA_HOME: "data" }])(
    "the usual dataDir is an absolute path or a fault: %j",
    (env) => {
      expect(() => loadConfig({ env })).toThrow("dataDir: has no usual place, since neither XDG_DATA_HOME nor HOME is");
      expect(loadConfig({ env: { ...env, SIMFLEET_DATA_DIR: "/data" } }).dataDir).toBe("/data");
    },
  );

  // docs/reference/configuration.md, which follows from the schema, shows the other defaults.
  it("an empty configuration is valid", () => {
    expect(loadConfig({ env: { HOME: "/home/op" } })).toMatchObject({
      dataDir: "/home/op/.local/share/simfleet",
      isUsualDataDir: true,
      profiles: { default: { credentials: [] } },
      warnings: [],
    });
  });

  const ofPlatform = {
    SIMFLEET_DEPLOYMENT: "soracom",
    SIMFLEET_ENDPOINT_JAPAN: "https://jp.example.com",
    SIMFLEET_COVERAGE: "jp",
    SIMFLEET_PROFILE: "plant",
    SIMFLEET_OPERATOR_ID: "OP1",
    SIMFLEET_USER_NAME: "worker",
    SIMFLEET_PASSWORD: "pass word",
    SIMFLEET_TOKEN_TTL_SECONDS: "180",
    SIMFLEET_JWKS_URL: "https://example.com/jwks",
  };
  const ofWorker = {
    SIMFLEET_REDIS_URL: "redis://127.0.0.1:6379/2",
    SIMFLEET_DATA_DIR: "/data",
    SIMFLEET_RATE_PERIOD_SECONDS: "0.5",
    SIMFLEET_RESERVE: "0.1",
    SIMFLEET_HTTP_HOST: "0.0.0.0",
    SIMFLEET_HTTP_PORT: "0",
    SIMFLEET_HTTP_ADMIN_TOKEN: "admin-token-of-32-characters-.....",
  };

  const user = { kind: "sub-user", operatorId: "OP1", userName: "worker" };

  it("the environment can provide the complete configuration", () => {
    const config = loadConfig({ env: { ...ofPlatform, ...ofWorker } });
    expect(config).toMatchObject({
      deployment: { endpoints: { japan: "https://jp.example.com" }, ttlField: "tokenTimeoutSeconds" },
      profile: "plant",
      profiles: { plant: { profile: { name: "plant", coverage: "jp" }, credentials: [user] } },
      tokenTtlSeconds: 180,
      tokenKey: { jwksUrl: "https://example.com/jwks" },
      redis: { addresses: [{ host: "127.0.0.1", port: 6379 }], database: 2 },
      dataDir: "/data",
      limits: { periodMs: 500, reserve: 0.1 },
      http: { host: "0.0.0.0", port: 0 },
    });
    expect(config.http.adminToken?.reveal()).toBe("admin-token-of-32-characters-.....");
  });

  it.each(["x", "a".repeat(31), `${"a".repeat(40)} b`])(
    "the admin token %s is refused with a command to create one",
    (token) => {
      const env = { HOME: "/home/anna", SIMFLEET_HTTP_ADMIN_TOKEN: token };
      expect(() => loadConfig({ env })).toThrow(
        /SIMFLEET_HTTP_ADMIN_TOKEN: must be at least 32 .*openssl rand -hex 32/,
      );
    },
  );

  it("an environment variable overrides the file unless it is empty", () => {
    const yaml = "limits: { reserve: 0.2, connections: 4 }\nlogLevel: warn\n";
    const config = load(yaml, { SIMFLEET_RESERVE: "0.3", SIMFLEET_LOG_LEVEL: "" });
    expect(config.limits).toMatchObject({ reserve: 0.3, connections: 4 });
    expect(config.logLevel).toBe("warn");
    const empty = load("deployment: soracom\nendpoints: { global: }\n");
    expect(empty.deployment.endpoints.global).toContain("https://");
  });

  it("--config overrides SIMFLEET_CONFIG", () => {
    const env = { SIMFLEET_CONFIG: fileOf("logLevel: warn\n") };
    expect(loadConfig({ env }).logLevel).toBe("warn");
    expect(loadConfig({ file: fileOf("logLevel: error\n"), env }).logLevel).toBe("error");
  });

  it("environment variables apply only to the selected profile", () => {
    const yaml = "profile: b\nlanguage: ja\nprofiles: { a: { coverage: g }, b: { coverage: g, language: en } }\n";
    const { profiles } = load(yaml, { SIMFLEET_COVERAGE: "jp" });
    expect(profiles["a"]).toMatchObject({ profile: { coverage: "g" }, language: "ja" });
    expect(profiles["b"]).toMatchObject({ profile: { coverage: "jp" }, language: "en" });
  });

  it("a profile may have the name of a property that every object inherits", () => {
    const { profiles } = loadConfig({ env: { SIMFLEET_PROFILE: "constructor", SIMFLEET_COVERAGE: "jp" } });
    expect(profiles["constructor"]).toMatchObject({ profile: { coverage: "jp" }, credentials: [] });
    expect(loadConfig({ env: { SIMFLEET_PROFILE: "toString" } }).profiles["toString"]?.language).toBe("en");
  });

  it("the example file loads and keeps all defaults", () => {
    const { file: _, ...example } = loadConfig({ file: "config/simfleet.example.yaml", env: {} });
    const { file: __, ...defaults } = loadConfig({ env: {} });
    // As data: each has functions of its own.
    expect(JSON.stringify(example)).toEqual(JSON.stringify(defaults));
  });
});

describe("configuration problems", () => {
  it("five errors are reported together, each with its location", () => {
    const yaml = "limits: { reserve: 2 }\nredis: { ulr: x }\nprofiles: { default: { coverage: eu } }\n";
    // The order in which problems are found is no promise.
    expect(problemsOf(yaml, { SIMFLEET_HTTP_PORT: "eighty", SIMFLEET_RESREVE: "0.1" }).toSorted()).toEqual(
      [
        "redis.ulr: There is no such setting. Did you mean url?",
        "SIMFLEET_RESREVE: There is no such variable. Did you mean SIMFLEET_RESERVE?",
        "limits.reserve: must be `auto`, or a number from 0 to 0.9; it is 2.",
        'SIMFLEET_HTTP_PORT: must be a whole number from 0 to 65535; it is "eighty".',
        'profiles.default.coverage: must be `g` or `jp`; it is "eu".',
      ].toSorted(),
    );
  });

  /** References that stand for a hundred million values. */
  const bomb = Array.from({ length: 9 }, (_, n) => `l${n}: &l${n} [${`${n === 0 ? 1 : `*l${n - 1}`}, `.repeat(10)}]`);

  it("a bracket may close in the column of its key", () => {
    expect(problemsOf("limits: {\n  connections: 8\n}\nhttp:\n  jwt: {\n    roleClaim: r\n  }\n")).toEqual([]);
  });

  it.each<[string, string | Environment, string]>([
    ["a syntax error", "a: [1\nb: 2\n", "line 2, column 1"],
    ["several documents", "logLevel: info\n---\nlogLevel: warn\n", "expected a single document in the stream"],
    [
      "references that grow",
      bomb.join("\n"),
      "has more than 100000 values, those that its references repeat included.",
    ],
    ["a text that begins with a mark of YAML", "logLevel: !S3cr3t", ", at its end: unknown tag"],
    ["a key given twice", "logLevel: info\nlogLevel: warn\n", "line 2, column 1: duplicated mapping key"],
    ["a list for a file", "- a\n", "must be a mapping of settings, such as"],
    ["a value for a section", "limits: 3\n", "limits: must be a mapping of settings."],
    [
      "a number for a text",
      "profiles: { default: { credentials: { authKeyId: 12, authKey: k } } }",
      "profiles.default.credentials.authKeyId: must be text; it is 12. Put it in quotes.",
    ],
    ["a bad name of a profile", "profiles: { a b: {} }", "profiles.a b: The name of a profile may have letters"],
    [
      "a profile that is not there",
      { SIMFLEET_PROFILES: "{ plant: {} }", SIMFLEET_PROFILE: "plnt" },
      "SIMFLEET_PROFILE: There is no profile plnt. Did you mean plant?",
    ],
    [
      "plain http to another machine",
      { SIMFLEET_ENDPOINT_GLOBAL: "http://example.com" },
      'SIMFLEET_ENDPOINT_GLOBAL: must be an https URL without a user name (http is allowed only for this machine); it is "http://example.com".',
    ],
    [
      "a platform definition that is not there",
      { SIMFLEET_DEPLOYMENT: "sorakom" },
      "deployment: There is no platform definition sorakom. Did you mean soracom? Known: svc and soracom; a file path contains a / or a dot.",
    ],
    ["plain http for keys", { SIMFLEET_JWKS_URL: "http://keys.example/jwks" }, "SIMFLEET_JWKS_URL: must be an https"],
    ["a brand with a space", { SIMFLEET_BRAND: "a b" }, "SIMFLEET_BRAND: must be letters, digits and hyphens"],
    ["a bad value", { SIMFLEET_LANGUAGE: "de" }, 'SIMFLEET_LANGUAGE: must be `en` or `ja`; it is "de".'],
    ["a shell's home folder", "dataDir: ~/data\n", 'dataDir: must be a path (`~` is not expanded); it is "~/data".'],
    [
      "an algorithm without a key, also while JWTs are not accepted",
      "http: { jwt: { algorithms: [none] } }",
      "http.jwt.algorithms: must be a list of ES256, ",
    ],
    [
      "two keys for tokens",
      { SIMFLEET_JWKS_URL: "https://a.b/c", SIMFLEET_TOKEN_PUBLIC_KEY_FILE: "package.json" },
      "SIMFLEET_TOKEN_PUBLIC_KEY_FILE: is set together with SIMFLEET_JWKS_URL. Keep one of them.",
    ],
    [
      "a file that is no public key",
      { SIMFLEET_TOKEN_PUBLIC_KEY_FILE: "package.json" },
      "SIMFLEET_TOKEN_PUBLIC_KEY_FILE: package.json is not a PEM file of a public key.",
    ],
  ])("the configuration reports %s", (_name, given, problem) => {
    const problems = typeof given === "string" ? problemsOf(given) : problemsOf("", given);
    expect(problems).toEqual([expect.stringContaining(problem)]);
  });

  it.each([
    ["cannot be read", "-----BEGIN PUBLIC KEY-----\nbm9uZQ==\n-----END PUBLIC KEY-----\n"],
    ["is a private one", generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString()],
  ])("a public key that %s is reported", (_how, content) => {
    const file = fileOf(content);
    expect(problemsOf("", { SIMFLEET_TOKEN_PUBLIC_KEY_FILE: file })).toEqual([
      expect.stringContaining(`${file} is not a PEM file of a public key.`),
    ]);
  });

  it("a missing config file that was named is reported", () => {
    expect(() => loadConfig({ env: { SIMFLEET_CONFIG: "/no/such.yaml" } })).toThrow(
      "/no/such.yaml: There is no such file.",
    );
  });

  it("a token lifetime that the platform definition cannot request causes a warning", () => {
    expect(loadConfig({ env: { SIMFLEET_TOKEN_TTL_SECONDS: "180" } }).warnings).toEqual([
      {
        where: "SIMFLEET_TOKEN_TTL_SECONDS",
        message: "cannot be asked for: the platform definition svc names no field for it (auth.ttlField).",
      },
    ]);
  });
});

describe("secret settings", () => {
  const withKey = (env: Environment) => {
    const { profiles } = loadConfig({ env: { SIMFLEET_AUTH_KEY_ID: "keyId-1", ...env } });
    const [first] = profiles["default"]?.credentials ?? [];
    return first?.kind === "auth-key" ? first.authKey.reveal() : undefined;
  };

  it("a secret is read from a file without its trailing line break", () => {
    expect(withKey({ SIMFLEET_AUTH_KEY_FILE: fileOf("secret-abc\n") })).toBe("secret-abc");
    expect(withKey({ SIMFLEET_AUTH_KEY_FILE: fileOf("secret-abc\r\n") })).toBe("secret-abc");
    expect(withKey({ SIMFLEET_AUTH_KEY_FILE: fileOf("\uFEFFsecret-abc\n") })).toBe("secret-abc");
    expect(withKey({ SIMFLEET_AUTH_KEY: "secret-abc\r" })).toBe("secret-abc");
    expect(problemsOf("", { SIMFLEET_AUTH_KEY_ID: "k", SIMFLEET_AUTH_KEY: '"secret-abc"' })).toEqual([
      "SIMFLEET_AUTH_KEY: is in quotes, which would be a part of it.",
    ]);
  });

  it.each([0o644, 0o640, 0o604, 0o620])("a secret file with mode %o is refused with the fix", (mode) => {
    const path = fileOf("secret-abc", mode);
    const octal = mode.toString(8).padStart(4, "0");
    expect(problemsOf("", { SIMFLEET_AUTH_KEY_ID: "k", SIMFLEET_AUTH_KEY_FILE: path })).toEqual([
      `SIMFLEET_AUTH_KEY_FILE: ${path} can be read by others (mode ${octal}). Fix it with: chmod 600 ${path}`,
    ]);
  });

  it("a secret file that is missing, empty, or a folder is refused", () => {
    const faultOf = (path: string) => problemsOf("", { SIMFLEET_AUTH_KEY_ID: "k", SIMFLEET_AUTH_KEY_FILE: path });
    const empty = fileOf("\n");
    expect(faultOf("/no/key")).toEqual(["SIMFLEET_AUTH_KEY_FILE: There is no file /no/key."]);
    expect(faultOf(empty)).toEqual([`SIMFLEET_AUTH_KEY_FILE: ${empty} is empty.`]);
    expect(faultOf(tmpdir())).toEqual([`SIMFLEET_AUTH_KEY_FILE: ${tmpdir()} is a folder, not a file.`]);
  });

  it("a secret is given as a value or a file but not both, and the environment overrides the file", () => {
    const path = fileOf("from-file");
    expect(problemsOf("", { SIMFLEET_AUTH_KEY_ID: "k", SIMFLEET_AUTH_KEY: "a", SIMFLEET_AUTH_KEY_FILE: path })).toEqual(
      ["SIMFLEET_AUTH_KEY: is set together with SIMFLEET_AUTH_KEY_FILE. Keep one of them."],
    );
    const file = fileOf("profiles: { default: { credentials: { authKeyId: k, authKey: written } } }");
    expect(loadConfig({ file, env: {} }).profiles["default"]?.credentials).toMatchObject([{ kind: "auth-key" }]);
    expect(withKey({ SIMFLEET_CONFIG: file, SIMFLEET_AUTH_KEY_FILE: path })).toBe("from-file");
  });

  it("configuration problems never show a secret", () => {
    const env = { SIMFLEET_EMAIL: "a@b", SIMFLEET_PASSWORD: "hunter2\0", SIMFLEET_MFA_SECRET: "0189 not base32" };
    const problems = problemsOf("", env).join("\n");
    expect(problems).toContain("SIMFLEET_PASSWORD: must be text.");
    expect(problems).toContain("SIMFLEET_MFA_SECRET: must be base32 (letters A to Z, digits 2 to 7).");
    expect(problems).not.toMatch(/hunter2|0189/);
  });

  it("the password is removed from the Redis address", () => {
    const { redis } = loadConfig({ env: { SIMFLEET_REDIS_URL: "redis://op:p%40ss-w0rd@host:6379/1" } });
    expect(redis?.address).toBe("redis://op@host:6379/1");
    expect(redis?.password?.reveal()).toBe("p@ss-w0rd");
    expect(liveSecrets()).toContain("p@ss-w0rd");
  });
});
