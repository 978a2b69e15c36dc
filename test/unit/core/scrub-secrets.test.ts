import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { seeds } from "../../support/long.ts";
import { readFault } from "#api/http/response.ts";
import { scrubJson, scrubSecrets, scrubSecretsInJson, scrubValues } from "#core/secrets/scrub-secrets.ts";
import { Secret } from "#core/secrets/secret.ts";
import { pickFields } from "#fleet/sim/sim-fields.ts";
import { scrub } from "#telemetry/logger.ts";
import { encodings } from "../../e2e/support/canary.ts";
import { anyText } from "../../support/any-text.ts";

const canaries: readonly [string, string][] = [
  ["with characters that every encoding changes", `canary pass/word+"q"&<ö>-'!?~\\n%41`],
  ["of plain characters", "canaryKey0123456789abcdefXYZ"],
];
const held: Secret[] = [];
function hold(value: string): void {
  held.push(new Secret(value));
}
afterEach(() => {
  for (const secret of held.splice(0)) secret.forget();
});

const cases = canaries.flatMap(([kind, canary]) =>
  Object.entries(encodings).map(([encoding, encode]) => [kind, encoding, canary, encode(canary)] as const),
);

describe("live secrets in text", () => {
  it.each(cases)("the live secret %s is removed from text when written as %s", (_kind, encoding, canary, written) => {
    hold(canary);
    const clean = scrubSecrets(`before ${written} after`);
    expect(clean).toMatch(/^before .{0,12}(\[secret\]|0).{0,12} after$/s);
    if (encoding !== "a list of bytes") expect(clean).toContain("[secret]");
    expect(clean).not.toContain(written);
  });

  /** Bodies of errors that echo a text. */
  const errorsThatEcho = (written: string): string[] => [
    JSON.stringify({ code: written, message: `no such key ${written}` }),
    JSON.stringify({ errorMessage: { code: "X", message: `${written} is wrong` } }),
    `no such key ${written}`,
    `<html><title>400 ${written}</title>`,
    `<html><p>400 ${written}`,
  ];

  it.each(cases)(
    "the live secret %s is removed from a platform error that echoes it as %s",
    (_kind, _encoding, canary, written) => {
      hold(canary);
      for (const body of errorsThatEcho(written)) {
        const { code = "", message = "" } = readFault(body);
        for (const text of [code, message]) {
          expect(text).not.toContain(written.slice(0, 24));
          expect(text).not.toContain(written.slice(0, 24).replaceAll(/\p{Cc}+/gu, " "));
        }
        expect(message).toMatch(/\[secret\]|\b0\b/);
      }
    },
  );

  it("a live secret is removed from a page truncated in the middle of it", () => {
    const canary = "canaryKey0123456789abcdefXYZ";
    hold(canary);
    const { message = "" } = readFault(`${" ".repeat(8_192 - 12)}${canary}`);
    expect(message).toBe("[secret]");
  });

  it("a live secret is removed from a SIM field that echoes it", () => {
    const canary = "canaryKey0123456789abcdefXYZ";
    hold(canary);
    const record = { status: Buffer.from(canary).toString("hex"), tags: { note: canary, list: [{ inner: canary }] } };
    const choice = { fields: ["status", "tags"], secrets: new Set<string>(), places: {} };
    expect(JSON.stringify([...pickFields(record, choice).fields])).not.toContain("canary");
    expect(pickFields(record, choice).fields.get("status")).toEqual({ text: "[secret]" });
    expect(pickFields(record, choice).fields.get("tags.list")).toEqual({ json: '[{"inner":"[secret]"}]' });
  });

  it("scrubbing JSON removes any live secret and keeps valid JSON", () => {
    const secret = fc.oneof(fc.string({ minLength: 4, maxLength: 12 }), fc.stringMatching(/^[0-9]{4,8}$/));
    fc.assert(
      fc.property(secret, fc.jsonValue(), (value, document) => {
        const live = new Secret(value);
        const json = JSON.stringify({ document, text: `a ${value} b`, [value]: 1 });
        const clean = scrubSecretsInJson(json);
        live.forget();
        expect(() => JSON.parse(clean) as unknown).not.toThrow();
        if (value.trim().length >= 4 && value !== "document") {
          expect((JSON.parse(clean) as { text: string }).text).not.toContain(value);
        }
      }),
    );
  });
});

it("text without a live secret is returned unchanged", () => {
  hold("canaryKey0123456789abcdefXYZ");
  fc.assert(
    fc.property(anyText({ maxLength: 200 }), (text) => {
      expect(scrubSecrets(text)).toBe(text);
    }),
  );
});

/** The fastest of some calls, since whatever else the machine does only adds to a time. */
function fastestMs(call: () => unknown): number {
  let fastest = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 3; i += 1) {
    const from = performance.now();
    call();
    fastest = Math.min(fastest, performance.now() - from);
  }
  return fastest;
}

/** The lengths compared: the longer is a megabyte in the long form. */
const kilobytes = [4, seeds(256, 1_024)] as const;
/** Texts on which a pattern that starts over at every character would take quadratic time. */
const hard: readonly string[] = [
  "a",
  "a.",
  "a-",
  "\\",
  " ",
  "\\u0041",
  "%41",
  "%25",
  "&amp;",
  "x-",
  "x-a-token ",
  "eyJ-",
  "eyJaaaaa.",
  "a://",
  "a://b:",
  '"token":"',
  '\\"token\\":\\"',
  "token=",
  "token= ",
  "authorization ",
  "bearer ",
  "canaryKey",
  "canaryKey0123456789abcdefXYZ",
  '"',
  "0x41, ",
  "=",
];

it.each(hard)("scrubbing a long cell of %j takes linear time", (unit) => {
  hold("canaryKey0123456789abcdefXYZ");
  hold("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab");
  const growth = (): number => {
    const [msPerShort = 0, msPerLong = 0] = kilobytes.map((size) => {
      const text = `token ${unit.repeat(Math.ceil((size * 1_024) / unit.length))}`;
      return fastestMs(() => scrub(text)) / size;
    });
    return msPerLong / Math.max(msPerShort, 0.002);
  };
  // Quadratic work per kilobyte grows as the length, linear work does not; memory and its cache make it grow up to five
  // times. Other processes may take the processor during a measurement, but not during each of three.
  expect([1, 2, 3].some(() => growth() < kilobytes[1] / kilobytes[0] / 2)).toBe(true);
});

describe("secret inputs of a row", () => {
  const value = "Canary pass/word+1";

  it.each(Object.entries(encodings))("are removed from a message when written as %s, in any case", (_name, encode) => {
    const clean = scrubValues(`before ${encode(value)} after, ${value.toUpperCase()}`, [value]);
    expect(clean).toMatch(/^before .{0,12}(\[secret\]|0).{0,12} after, \[secret\]$/s);
  });

  it("are removed from a record in each encoding", () => {
    const text = fc.string({ minLength: 8, maxLength: 20 }).filter((one) => one.trim() === one);
    fc.assert(
      fc.property(text, fc.constantFrom(...Object.values(encodings)), (secret, encode) => {
        const record = {
          status: encode(secret),
          tags: { note: `a ${encode(secret)} b` },
          bytes: [...Buffer.from(secret)],
        };
        const clean = scrubJson(JSON.stringify(record), (one) => scrubValues(one, [secret]));
        expect(clean).not.toContain(JSON.stringify(encode(secret)).slice(1, -1));
        expect(JSON.parse(clean)).toMatchObject({ bytes: "[secret]" });
      }),
    );
  });

  it("leave a record without them unchanged", () => {
    const other = { status: "active", list: [1, 2, 3], sum: 12 };
    expect(JSON.parse(scrubJson(JSON.stringify(other), (one) => scrubValues(one, [value])))).toEqual(other);
  });

  it("are removed where a message was cut within them, and short ones are left in records", () => {
    expect(scrubValues("no such word Canary pass/w…. It failed", [value])).toBe("no such word [secret]…. It failed");
    expect(scrubValues("active 1234", ["1234"])).toBe("active 1234");
  });
});
