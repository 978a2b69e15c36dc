import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { PlatformError, SimfleetError } from "#core/errors.ts";
import { Secret } from "#core/secrets/secret.ts";
import { createLogger, scrub } from "#telemetry/logger.ts";
import { seeds } from "../../support/long.ts";

/** With characters that every escaping changes: quote, backslash, slash, plus, space, ampersand, beyond ASCII. */
const canary = 'c4n/ry+"q\\uo te&é<k>?';
const held: Secret[] = [];
function hold(value: string): Secret {
  const secret = new Secret(value);
  held.push(secret);
  return secret;
}
function forgetAll(): void {
  for (const secret of held.splice(0)) secret.forget();
}
afterEach(forgetAll);

/** Undoes what a reader of the log could undo; no piece of the canary may be left in any reading. */
function expectNoTrace(line: string): void {
  const bytes = Buffer.from(canary);
  const readings = [
    canary,
    JSON.stringify(canary).slice(1, -1),
    JSON.stringify(JSON.stringify(canary)).slice(3, -3),
    encodeURIComponent(canary),
    encodeURIComponent(canary).toLowerCase(),
    bytes.toString("base64").slice(0, -4),
    bytes.toString("base64url").slice(0, -4),
    bytes.toString("hex"),
    bytes.toString("hex").toUpperCase(),
    bytes.join(","),
    "c4n",
  ];
  for (const reading of readings) expect(line).not.toContain(reading);
}

const shapes: readonly [string, (log: ReturnType<typeof createLogger>) => void][] = [
  ["in the message", (log) => log.info(`signed in with ${canary}`)],
  ["as a field", (log) => log.info({ value: canary }, "x")],
  ["deep in a field", (log) => log.info({ a: { b: [{ c: canary }] } }, "x")],
  ["as a field's name", (log) => log.info({ [canary]: 1 }, "x")],
  ["in a field of a child logger", (log) => log.child({ value: canary }).info("x")],
  ["in an error's message", (log) => log.error(new Error(`refused: ${canary}`))],
  ["in an error's cause", (log) => log.error({ error: new Error("x", { cause: new Error(canary) }) }, "x")],
  ["in JSON inside JSON", (log) => log.info({ body: JSON.stringify({ inner: JSON.stringify({ a: canary }) }) }, "x")],
  ["in a query", (log) => log.info(`GET /?k=${encodeURIComponent(canary)}`)],
  ["as bytes", (log) => log.info({ value: Buffer.from(canary) }, "x")],
];

/** Secrets that end or start with what looks like an escape together with the text before or after them. */
const halfEscaped: [secret: string, before: string, after: string][] = [
  ['!"   %', "", "00"],
  ['00     "', "%", ""],
  ['a"b   &', "", "lt;"],
  ['lt;    "', "&", ""],
];
const anySecret = fc.string({ unit: "grapheme", minLength: 6, maxLength: 40 }).filter((text) => text.trim().length > 5);
const nearText = fc.string({ maxLength: 7 });

const percentEncoded = (text: string): string => encodeURIComponent(text.toWellFormed());

/** The base64 of a text with a value in it, and the piece of it that encodes the value alone. */
function base64Of(text: string, before: string, value: string) {
  const base64 = Buffer.from(text).toString("base64");
  const end = Buffer.from(before + value).length;
  return { base64, inner: base64.slice(Math.ceil((Buffer.from(before).length * 8) / 6), Math.floor((end * 8) / 6)) };
}

// Shows S1.
describe("live secrets in log lines", () => {
  it.each(shapes)("a live secret never appears in a log line: %s", (_name, write) => {
    hold(canary);
    const lines: string[] = [];
    write(createLogger({ level: "trace", destination: { write: (line) => lines.push(line) } }));
    expect(lines).toHaveLength(1);
    expectNoTrace(lines[0] ?? "");
    expect(() => JSON.parse(lines[0] ?? "")).not.toThrow();
  });

  it("a live secret is scrubbed from any surrounding text and encoding", () => {
    fc.assert(
      fc.property(anySecret, nearText, nearText, (value, before, after) => {
        hold(value);
        const around = `${before}${value}${after}`;
        expect(scrub(around)).not.toContain(value);
        expect(scrub(JSON.stringify([around]))).not.toContain(JSON.stringify(value).slice(1, -1));
        expect(scrub(percentEncoded(around))).not.toContain(percentEncoded(value));
        const { base64, inner } = base64Of(around, before, value);
        if (inner.length >= 6) expect(scrub(base64)).not.toContain(inner);
        forgetAll();
      }),
      { numRuns: seeds(100, 1_000), examples: halfEscaped },
    );
  });

  it("a forgotten secret is no longer scrubbed", () => {
    const secret = hold("old-token-1");
    expect(scrub("old-token-1")).toBe("[secret]");
    secret.forget();
    expect(scrub("old-token-1")).toBe("old-token-1");
  });

  it("a secret that contains another secret is scrubbed completely", () => {
    hold("inner-1");
    hold("before-inner-1-after");
    expect(scrub("x before-inner-1-after y")).toBe("x [secret] y");
  });
});

describe("text shaped like a secret", () => {
  it.each([
    ["X-Svc-Token: abc.def", "X-Svc-Token: [secret]"],
    ["x-acme-api-key=api-1234, next", "x-acme-api-key=[secret], next"],
    ['{"X-Svc-API-Key":"api-1","a":1}', '{"X-Svc-API-Key":"[secret]","a":1}'],
    ['{\\"authKey\\":\\"s-1\\"}', '{\\"authKey\\":\\"[secret]\\"}'],
    ['{"password":"a\\nb"}', '{"password":"[secret]"}'],
    ["Authorization: Bearer abc", "Authorization: Bearer [secret]"],
    ["redis://user:hunter2@host:6379/0", "redis://user:[secret]@host:6379/0"],
    ["GET /v1?token=abc&x=1", "GET /v1?token=[secret]&x=1"],
    ["got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln today", "got [secret] today"],
  ])("text shaped like a secret is scrubbed: %s", (text, clean) => expect(scrub(text)).toBe(clean));

  it.each([
    "the token has expired",
    "8942310123456789012 s1.fast",
    "https://example.com/v1/sims?limit=10",
    "key=simId",
  ])("text without a secret is left unchanged: %s", (text) => expect(scrub(text)).toBe(text));
});

describe("log lines", () => {
  const clock = { wallMs: () => 0, monotonicMs: () => 0, sleep: () => Promise.resolve() };
  const written = (
    options: Parameters<typeof createLogger>[0],
    write: (log: ReturnType<typeof createLogger>) => void,
  ) => {
    const lines: string[] = [];
    write(createLogger({ clock, destination: { write: (line) => lines.push(line) }, ...options }));
    return lines;
  };

  it("a log line has time, level, and message and nothing about the machine", () => {
    expect(written({}, (log) => log.info({ run: "r1" }, "started"))).toEqual([
      '{"level":"info","time":"1970-01-01T00:00:00.000Z","run":"r1","message":"started"}\n',
    ]);
  });

  it("a log line below the level is not written", () => {
    expect(written({ level: "warn" }, (log) => log.info("x"))).toEqual([]);
  });

  it("a log line has the code and details of an error and a stack only for internal errors", () => {
    const refused = new PlatformError("PLATFORM_REJECTED", "no", { operation: "listSims", status: 400 });
    const [line = "", internal = ""] = written({}, (log) => {
      log.error({ error: refused }, "x");
      log.error({ error: new SimfleetError("INTERNAL", "oops") }, "x");
    });
    const facts = { operation: "listSims", status: 400, mayHaveApplied: false };
    expect(JSON.parse(line).error).toEqual({
      name: "PlatformError",
      code: "PLATFORM_REJECTED",
      message: "no",
      ...facts,
    });
    expect(JSON.parse(internal).error.stack).toContain("oops");
  });

  it("log lines can be human-readable with control characters escaped", () => {
    const lines = written({ format: "lines" }, (log) => {
      log.warn({ run: "r1" }, "stop\u001b[2J");
      log.error({ error: new SimfleetError("USAGE", "wrong") }, "failed");
    });
    expect(lines).toEqual([
      "00:00:00.000 WARN  stop\\x1b[2J run=r1\n",
      "00:00:00.000 ERROR failed\n    SimfleetError [USAGE]: wrong\n",
    ]);
  });
});
