/** The section `webhooks`: what is read, what is rejected and in which words, and files that change at run time. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { liveSecrets } from "#core/secrets/secret.ts";
import { webhooksSection } from "#jobs/webhooks/config.ts";
import { scrub } from "#telemetry/logger.ts";
import { fileOf, problemsOf, reading } from "./support.ts";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const load = reading(webhooksSection);
describe("webhook settings", () => {
  it("a webhook needs few settings when the defaults apply", () => {
    const { ops } = load(
      `webhooks: { ops: { url: "https://x.example/h", secretFile: ${fileOf(secret)}, events: ["run.*"] } }`,
    );
    expect(ops?.webhook).toEqual({
      name: "ops",
      events: ["run.*"],
      profile: undefined,
      format: "standard",
      allowPrivate: false,
      timeoutMs: 15e3,
    });
    expect([ops?.url(), ops?.secrets().map((one) => one.reveal())]).toEqual(["https://x.example/h", [secret]]);
  });

  const faulty: [webhook: string, ...problems: unknown[]][] = [
    [
      `a: { url: "http://example.com", secret: short, events: ["runs.*", run.complete, sync.failed], profile: defalt }`,
      "webhooks.a.url: must be an https URL without a user name (http is allowed only for this machine).",
    ],
    [
      `b: { url: "https://x.example", urlFile: /x, secret: ${secret}, event: [run.*], allowPrivate: maybe }`,
      'webhooks.b.events: is missing; it is a list of event types such as `["run.*", "credential.failed"]`.',
      "webhooks.b.allowPrivate: must be `true` or `false`.",
      "webhooks.b.event: There is no such setting. Did you mean events?",
      "webhooks.b: must have either url or urlFile.",
    ],
    [
      `c: { url: "https://x.example", secret: ${secret}, format: slak, events: [] }`,
      'webhooks.c.events: must be a list of event types such as `["run.*", "credential.failed"]`.',
      "webhooks.c.format: must be `standard`, `slack`, `teams` or `text`.",
    ],
    [
      `d: { url: "https://10.1/", events: ["*"] }`,
      "webhooks.d.url: leads into a private network, which allowPrivate: true allows.",
      expect.stringContaining("webhooks.d.secretFile: is required to sign messages: a file of whsec_"),
    ],
    [
      `e: { url: "https://x.example", secret: ${secret}, format: slack, events: ["*"] }`,
      "webhooks.e.secret: is for the format standard alone.",
    ],
    [
      `f: { urlFile: ${fileOf("https://[fd00::1]/")}, secretFile: /no/such, events: ["*"] }`,
      expect.stringMatching(/^webhooks.f.urlFile: .* must contain an https URL/),
      "webhooks.f.secretFile: There is no file /no/such.",
    ],
  ];

  it("all errors of the webhooks are reported together, each with its path and a suggestion", () => {
    const yaml = ["webhooks:", ...faulty.map(([webhook]) => webhook)].join("\n  ");
    expect(problemsOf(yaml)).toEqual(faulty.flatMap(([, ...problems]) => problems));
  });

  it("an unknown event or profile of a webhook is reported with a suggestion", () => {
    const settings = 'secret: short, events: ["runs.*", run.complete, sync.failed], profile: defalt';
    expect(problemsOf(`webhooks: { a: { url: "https://x.example", ${settings} } }`)).toEqual([
      "webhooks.a.events.0: There is no event runs.*. Did you mean run.*?",
      "webhooks.a.events.1: There is no event run.complete. Did you mean run.completed?",
      "webhooks.a.profile: There is no profile defalt. Did you mean default?",
      expect.stringContaining("webhooks.a.secret: must be whsec_"),
    ]);
  });

  it.each([
    ["the specification's form", secret, secret],
    ["a bare key", "k".repeat(24), `whsec_${Buffer.from("k".repeat(24)).toString("base64")}`],
  ])("a webhook signs with %s", (_, written, used) => {
    const { ops } = load(`webhooks: { ops: { url: "https://x.example", secret: ${written}, events: ["*"] } }`);
    expect(ops?.secrets().map((one) => one.reveal())).toEqual([used]);
    expect(liveSecrets()).toEqual(expect.arrayContaining([written, used]));
  });

  it.each(["k".repeat(23), "k".repeat(65), "whsec_c2hvcnQ=", "whsec_no base64 at all, by far"])(
    "a webhook refuses to sign with the secret %s",
    (written) => {
      const problems = problemsOf(
        `webhooks: { ops: { url: "https://x.example", secret: "${written}", events: ["*"] } }`,
      );
      expect(problems).toEqual([expect.stringContaining("webhooks.ops.secret: must be whsec_ and 24 to 64 bytes")]);
    },
  );

  /** A webhook whose address and secrets are in files. */
  const setup = () => {
    const [now, before] = [fileOf(secret), fileOf(`${"b".repeat(30)}\n`)];
    const address = fileOf("https://x.example/one-time");
    const files = `urlFile: ${address}, secretFile: ${now}, previousSecretFile: ${before}`;
    const { ops } = load(`webhooks: { ops: { ${files}, events: ["*"] } }`);
    return { now, before, address, ops, secrets: () => ops?.secrets().map((one) => one.reveal()) };
  };

  it("a webhook reloads its secret and address from files", () => {
    const { now, address, ops, secrets } = setup();
    const old = secrets();
    expect(old).toHaveLength(2);
    writeFileSync(now, "n".repeat(24));
    writeFileSync(address, "https://y.example/another");
    const next = `whsec_${Buffer.from("n".repeat(24)).toString("base64")}`;
    expect([secrets()?.[0], ops?.url()]).toEqual([next, "https://y.example/another"]);
    expect(ops?.faults()).toEqual([]);
    // What was in use a moment ago may still be on its way into a log.
    expect(scrub(`${old?.[0]} https://x.example/one-time`)).toBe("[secret] [secret]");
  });

  it("a webhook keeps the last valid secrets and address when its files are spoiled or gone", () => {
    const { now, before, address, ops, secrets } = setup();
    writeFileSync(now, "n".repeat(24));
    writeFileSync(address, "https://y.example/another");
    const good = [secrets(), ops?.url()];
    writeFileSync(now, "spoiled");
    writeFileSync(address, "http://inside.example/");
    rmSync(before);
    expect([secrets(), ops?.url()]).toEqual(good);
    expect(ops?.faults()).toEqual([
      expect.stringContaining(`${address} must contain an https URL`),
      expect.stringContaining(`${now} must contain whsec_`),
      `There is no file ${before}.`,
    ]);
  });

  it("the address before the last valid one is still treated as a secret when its file is spoiled", () => {
    const { address, ops } = setup();
    for (const url of ["https://z.example/before", "https://y.example/another", "http://inside.example/"]) {
      writeFileSync(address, url);
      ops?.url();
    }
    expect(scrub("https://z.example/before")).toBe("[secret]");
  });

  it("the address of a chat webhook is treated as a secret", () => {
    const { chat } = load(
      `webhooks: { chat: { url: "https://hooks.example/services/T0/B0/xyz", format: slack, events: ["*"] } }`,
    );
    expect([chat?.url(), chat?.secrets()]).toEqual(["https://hooks.example/services/T0/B0/xyz", []]);
    expect(scrub(`went to ${chat?.url()}`)).toBe("went to [secret]");
  });
});

it("examples/webhooks.yaml is a valid configuration", () => {
  const written = readFileSync("examples/webhooks.yaml", "utf8");
  const places = new Set(written.match(/\/run\/secrets\/[a-z-]+/g));
  let yaml = written;
  for (const place of places) {
    const content = place.endsWith("-url") ? "https://hooks.example/services/T0/B0/abcdefgh" : secret;
    yaml = yaml.replaceAll(new RegExp(`${place}(?![a-z-])`, "g"), fileOf(content));
  }
  const webhooks = load(yaml);
  expect(Object.values(webhooks).map(({ webhook }) => webhook.format)).toEqual(["standard", "slack", "teams"]);
});
