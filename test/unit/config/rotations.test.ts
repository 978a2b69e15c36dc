import { describe, expect, it } from "vitest";
import { requireSeal } from "#config/config.ts";
import { rotationsSection } from "#jobs/credentials/config.ts";
import { fileOf, loadConfig, problemsOf, reading } from "./support.ts";

const generated = "generate: { field: key, bytes: 32 }, sinks: [ { file: /run/out/psk } ]";

describe("rotation settings", () => {
  it("a rotation needs few settings when the defaults apply", () => {
    const rotations = reading(rotationsSection)(`rotations: { mqtt-psk: { type: psk, ${generated} } }`);
    expect(rotations["mqtt-psk"]).toEqual({
      name: "mqtt-psk",
      profile: "default",
      type: "psk",
      credentialsId: "mqtt-psk",
      generate: { field: "key", bytes: 32, encoding: "base64url" },
      constants: {},
      strategy: "successor",
      graceMs: 86_400_000,
      sinks: [{ file: "/run/out/psk" }],
    });
  });

  const a =
    "typ: psk, generate: { field: key, bites: 3 }, strategy: sucessor, graceSeconds: -1, sinks: [ { file: /x } ]";
  const b = "type: psk, from: { command: [x], file: /y }, sinks: []";

  it("all errors of the rotations are reported together, each with its path", () => {
    expect(problemsOf(`rotations: { a: { ${a} }, b: { ${b} }, "-c": {}, d: 7 }`)).toEqual([
      "rotations.a.type: is missing; it is the type of a Credential Set.",
      "rotations.a.generate.bites: There is no such setting. Did you mean bytes?",
      "rotations.a.generate: must have either bytes or length.",
      "rotations.a.strategy: must be `successor` or `in-place`.",
      "rotations.a.graceSeconds: must be a number from 0 to 31536000.",
      "rotations.a.typ: There is no such setting. Did you mean type?",
      "rotations.b.from: must have either command or file.",
      "rotations.b.sinks: must have a sink that is handed the new secret.",
      "rotations.-c: A name may have letters, digits, - and _, and must start and end with a letter or digit.",
      "rotations.d: must be a mapping of settings.",
    ]);
  });

  it("all errors of the sinks of a rotation are reported together, each with its path", () => {
    const sinks = '{ file: /x, command: [y] }, { webhook: { url: "http://example.com" } }, { fil: /z }';
    const generate = "generate: { field: key, bytes: 32 }";
    expect(problemsOf(`rotations: { a: { type: psk, ${generate}, sinks: [ ${sinks} ] } }`)).toEqual([
      "rotations.a.sinks.0: must have exactly one of file, command, kubernetesSecret and webhook.",
      "rotations.a.sinks.1.webhook.url: must be an https URL without a user name (http is allowed only for this machine).",
      "rotations.a.sinks.1.webhook.secretFile: is missing; it is a path (`~` is not expanded).",
      "rotations.a.sinks.2.fil: There is no such setting. Did you mean file?",
      "rotations.a.sinks.2: must have exactly one of file, command, kubernetesSecret and webhook.",
    ]);
  });

  const refused: [string, settings: string, words: RegExp][] = [
    [
      "a secret that can be guessed",
      "generate: { field: key, length: 6, alphabet: abc }",
      /length: is too short: .* 64 bits/,
    ],
    ["a character that comes twice", "generate: { field: key, length: 99, alphabet: abca }", /alphabet: must not have/],
    ["a length without an alphabet", "generate: { field: key, length: 99 }", /must have length and alphabet together/],
    [
      "a field that the type does not have",
      "generate: { field: kay, bytes: 32 }",
      /field: gives kay, .* needs key.* Did you mean key\?/,
    ],
    [
      "an unknown profile",
      "profile: defalt, generate: { field: key, bytes: 32 }",
      /profile: There is no profile defalt. Did you mean default\?/,
    ],
    [
      "a constant in the place of the secret",
      "generate: { field: key, bytes: 32 }, with: { key: x }",
      /with.key: is the field/,
    ],
    [
      "an id too long for successors",
      `credentialsId: ${"x".repeat(85)}, generate: { field: key, bytes: 32 }`,
      /credentialsId: is too long/,
    ],
    [
      "both ways to a secret",
      "generate: { field: key, bytes: 32 }, from: { file: /x }",
      /rotations.a: must have either generate or from/,
    ],
    ["an empty way to a secret", "generate: ", /rotations.a: must have either generate or from/],
  ];

  it.each(refused)("a rotation cannot have %s", (_, settings, words) => {
    const problems = problemsOf(`rotations: { a: { type: psk, sinks: [ { file: /x } ], ${settings} } }`);
    expect(problems).toEqual([expect.stringMatching(words)]);
  });

  it("a rotation of a known type needs all its fields, and one of an unknown type accepts any", () => {
    const one = (settings: string): string[] =>
      problemsOf(`deployment: soracom\nrotations: { a: { sinks: [ { file: /x } ], ${settings} } }`);
    expect(one("type: x509, generate: { field: key, bytes: 32 }, with: { cert: c }")).toEqual([
      "rotations.a.generate.field: gives key, and a Credential Set of type x509 needs key, cert, ca: ca can be added in `with`.",
    ]);
    expect(one("type: x509, generate: { field: key, bytes: 32 }, with: { cert: c, ca: d }")).toEqual([]);
    expect(one("type: x509, from: { file: /x }")).toEqual([]);
    expect(one("type: newest, generate: { field: thing, bytes: 32 }")).toEqual([]);
  });

  it("two rotations cannot share a Credential Set", () => {
    expect(
      problemsOf(`rotations: { a: { type: psk, ${generated} }, b: { type: psk, credentialsId: a, ${generated} } }`),
    ).toEqual(["rotations.b.credentialsId: is the set of rotations.a as well. A set has one rotation."]);
  });

  it("a webhook sink of a rotation requires a valid secret", () => {
    const withSecret = (secret: string, mode = 0o600): string[] =>
      problemsOf(
        `rotations: { a: { type: psk, generate: { field: key, bytes: 32 }, sinks: [ { webhook: { url: "https://x.example", secretFile: ${fileOf(secret, mode)} } } ] } }`,
      );
    expect(withSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")).toEqual([]);
    expect(withSecret("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")[0]).toMatch(
      /sinks.0.webhook.secretFile: must contain whsec_/,
    );
    expect(withSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", 0o644)[0]).toMatch(
      /can be read by others \(mode 0644\)/,
    );
  });
});

describe("seal settings", () => {
  const bytes = Buffer.from(Array.from({ length: 32 }, (_, i) => i * 7 + 3));

  it.each([
    ["raw bytes", bytes],
    ["hex", `${bytes.toString("hex")}\n`],
    ["base64url", bytes.toString("base64url")],
    ["base64", `${bytes.toString("base64")}\n`],
  ])("the seal key is read from a file of %s", (_, content) => {
    const { seal } = loadConfig({ env: { SIMFLEET_SEAL_KEY_FILE: fileOf(content) } });
    expect(seal?.key.reveal()).toBe(bytes.toString("base64url"));
  });

  it.each([
    ["another length", bytes.subarray(1), 0o600, /must contain 32 bytes, raw, in hex or in base64url\. A key/],
    ["a file that others can read", bytes, 0o640, /chmod 600 \S+ A key/],
  ])("the seal key file is refused for %s", (_, content, mode, words) => {
    const [problem, ...others] = problemsOf("{}", { SIMFLEET_SEAL_KEY_FILE: fileOf(content, mode) });
    expect(problem).toMatch(words);
    expect(problem).toContain(" A key is made with: (umask 077; openssl rand -hex 32 > ");
    expect(others).toEqual([]);
  });

  it("a missing seal key is reported with a command to create one", () => {
    expect(() => requireSeal(loadConfig({ env: {} }), "Rotating Credential Sets")).toThrow(
      /seal.keyFile: is required: Rotating Credential Sets stores .* openssl rand -hex 32/,
    );
  });
});
