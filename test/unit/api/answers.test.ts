import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readFault, readAnswer } from "#api/http/response.ts";
import { authOperation } from "#api/operations/auth.ts";
import { listSims } from "#api/operations/sims.ts";
import { updateSimSpeedClass } from "../../support/speed-class.ts";
import type { Operation } from "#api/operations/operation.ts";
import { PlatformError } from "#core/errors.ts";
import { seeds } from "../../support/long.ts";
import { anyText } from "../../support/any-text.ts";

const placed = { bucket: "default.Sim", host: "h.example", rateLimitedMs: 12_000, retryAfterMs: undefined };

function refusal(operation: Operation<never, unknown>, status: number, text: string): PlatformError {
  try {
    readAnswer(operation, { status, headers: {}, body: Buffer.from(text), ...placed });
  } catch (thrown) {
    if (thrown instanceof PlatformError) return thrown;
    throw thrown;
  }
  throw new Error("not refused");
}

const cases: [number, string, PlatformError["code"], boolean][] = [
  [400, '{"code":"SEM0016","message":"no such class"}', "PLATFORM_REJECTED", false],
  [404, "", "PLATFORM_REJECTED", false],
  [409, "{}", "PLATFORM_REJECTED", false],
  [401, "", "PLATFORM_UNAUTHORIZED", false],
  [403, '{"code":"AGW0003","message":"denied"}', "PLATFORM_FORBIDDEN", false],
  [408, "", "PLATFORM_UNAVAILABLE", false],
  [425, "", "PLATFORM_UNAVAILABLE", false],
  [429, "", "PLATFORM_RATE_LIMITED", false],
  [500, "", "PLATFORM_UNAVAILABLE", true],
  [502, "<html><title>502 Bad Gateway</title></html>", "PLATFORM_UNAVAILABLE", true],
  [503, "", "PLATFORM_UNAVAILABLE", true],
  [302, "", "PLATFORM_RESPONSE_INVALID", false],
  [204, "", "PLATFORM_RESPONSE_INVALID", true],
  [200, "<html><title>Sign in</title></html>", "PLATFORM_RESPONSE_INVALID", true],
  [200, '{"imsi":"1"}', "PLATFORM_RESPONSE_INVALID", true],
  [200, "[]", "PLATFORM_RESPONSE_INVALID", true],
  [200, '{"imsi":"001010000000001","speedCl', "PLATFORM_UNAVAILABLE", true],
  [200, "", "PLATFORM_UNAVAILABLE", true],
];

describe("responses to writes", () => {
  it.each(cases)(
    "a write response of %i with %j is reported as %s and may have applied: %s",
    (status, text, code, mayHaveApplied) => {
      const error = refusal(updateSimSpeedClass, status, text);
      expect([error.code, error.mayHaveApplied]).toEqual([code, mayHaveApplied]);
      expect(error.status).toBe(status);
      expect(error.operation).toBe("set-speed-class");
    },
  );

  it("an error keeps the platform's code and message, including Japanese text", () => {
    const error = refusal(updateSimSpeedClass, 400, '{"code":"SEM0016","message":"速度クラスが無効です"}');
    expect(error.platformCode).toBe("SEM0016");
    expect(error.message).toContain("400 SEM0016: 速度クラスが無効です");
  });

  it("a successful response keeps unknown fields", () => {
    const text = '{"imsi":"001","speedClass":"s1.fast","more":[1]}';
    expect(readAnswer(updateSimSpeedClass, { status: 200, headers: {}, body: Buffer.from(text), ...placed })).toEqual({
      imsi: "001",
      speedClass: "s1.fast",
      more: [1],
    });
  });
});

describe("responses to reads and authentication", () => {
  it("a truncated list response never counts as possibly applied", () => {
    expect(refusal(listSims, 200, '[{"simId":"1"},').mayHaveApplied).toBe(false);
  });

  it.each([400, 401, 403, 404, 422])("a %i response to authentication is reported as refused credentials", (status) => {
    expect(refusal(authOperation, status, '{"code":"AUM0003","message":"no"}').code).toBe("PLATFORM_UNAUTHORIZED");
  });

  it("a bare 404 response to authentication is reported as a wrong address", () => {
    expect(refusal(authOperation, 404, "<h1>nginx</h1>").code).toBe("PLATFORM_RESPONSE_INVALID");
  });

  it("a pair that is unusable as a header is refused without being quoted", () => {
    const error = refusal(authOperation, 200, '{"operatorId":"OP1","apiKey":"a\\r\\nX-Evil: 1","token":"t"}');
    expect(error.code).toBe("PLATFORM_RESPONSE_INVALID");
    expect(error.message).toContain("apiKey");
    expect(error.message).not.toContain("Evil");
  });
});

// Shows S7.
describe("error bodies", () => {
  it("an error body is read in its flat and nested forms", () => {
    expect(readFault('{"code":"A1","message":"m"}')).toEqual({ shape: "flat", code: "A1", message: "m" });
    expect(readFault('{"httpStatus":404,"errorMessage":{"code":"A2","message":"n"}}')).toEqual({
      shape: "nested",
      code: "A2",
      message: "n",
    });
  });

  it("an HTML error body yields its title or its text without tags", () => {
    expect(readFault("<!doctype html><title>\n 502 Bad   Gateway</title><p>x")).toEqual({
      shape: "html",
      code: undefined,
      message: "502 Bad Gateway",
    });
    expect(readFault("<h1>Forbidden</h1><hr>nginx").message).toBe("Forbidden nginx");
  });

  it("an empty or unrecognized error body yields no code", () => {
    expect(readFault("  ")).toEqual({ shape: "none", code: undefined, message: undefined });
    expect(readFault("upstream connect error").message).toBe("upstream connect error");
    expect(readFault('["a"]').code).toBeUndefined();
  });

  it("an error body is stripped of control characters, escapes, and direction marks", () => {
    expect(readFault(JSON.stringify({ code: "A\u0000", message: "a\u001b[31mb\r\nc\u202ed\u2028e" }))).toMatchObject({
      code: "A",
      message: "a [31mb c d e",
    });
  });

  const anyBody = fc.oneof(
    anyText({ maxLength: 2_000 }),
    fc.json(),
    fc
      .record({ code: fc.jsonValue(), message: fc.jsonValue(), errorMessage: fc.jsonValue() })
      .map((v) => JSON.stringify(v)),
    fc.array(fc.constantFrom("<", ">", "<title", "</title>", "{", '"', "\\u0000", "あ")).map((some) => some.join("")),
  );

  it("reading any error body never throws and yields bounded text", () => {
    fc.assert(
      fc.property(anyBody, (body) => {
        const fault = readFault(body);
        expect(fault.code?.length ?? 0).toBeLessThanOrEqual(64);
        expect(fault.message?.length ?? 0).toBeLessThanOrEqual(300);
        expect(`${fault.code}${fault.message}`).not.toMatch(/\p{Cc}/u);
      }),
      { numRuns: seeds(300, 3_000) },
    );
  });

  it("reading an error body of megabytes yields bounded text", () => {
    for (const page of [
      "<title".repeat(1_000_000),
      `<title>${"x".repeat(4_000_000)}`,
      "<".repeat(4_000_000),
      `{"message":"${"y".repeat(4_000_000)}"}`,
    ]) {
      expect(readFault(page).message?.length ?? 0).toBeLessThanOrEqual(300);
    }
  });
});
