import { createLocalJWKSet, decodeJwt, jwtVerify } from "jose";
import { describe, expect, test } from "vitest";
import { oneTimeCode, readBase32 } from "#core/secrets/one-time-code.ts";
import { goodAuthKey, openSandbox, quotaOf, root, user } from "./open-sandbox.ts";

const mfaSecret = "JBSWY3DPEHPK3PXP";

describe("sign-in", () => {
  test.each([
    ["the Root user", root, {}],
    ["an AuthKey", goodAuthKey, {}],
    ["a sub-user", user, { userName: "robot" }],
  ])("%s receives a pair that says whose it is", async (_, body, name) => {
    const { send } = await openSandbox();
    const { status, json } = await send("POST", "/v1/auth", { body });
    const [apiKey, token] = [expect.any(String), expect.any(String)];
    expect([status, json]).toEqual([200, { apiKey, token, operatorId: "OP0000000001", ...name }]);
  });
});

describe("one-time codes", () => {
  test.each([
    ["root", root],
    ["sub-user", user],
  ])("a %s account with MFA needs a one-time code to sign in", async (_, body) => {
    const { send, clock } = await openSandbox({ mfaSecret });
    const signIn = (mfaOTPCode?: string) => send("POST", "/v1/auth", { body: { ...body, mfaOTPCode } });
    const codeAt = (ms: number) =>
      oneTimeCode(readBase32(mfaSecret) ?? new Uint8Array(), { wallMs: clock.wallMs() + ms });
    expect((await signIn()).json.code).toBe("AUM0012");
    expect((await signIn(codeAt(0))).status).toBe(200);
    expect((await signIn(codeAt(-30_000))).status).toBe(200);
    expect((await signIn(codeAt(30_000))).status).toBe(200);
    expect((await signIn(codeAt(-90_000))).json.code).toBe("AUM0013");
  });

  test("an AuthKey needs no one-time code to sign in", async () => {
    const { send } = await openSandbox({ mfaSecret });
    expect((await send("POST", "/v1/auth", { body: goodAuthKey })).status).toBe(200);
  });
});

describe("tokens", () => {
  test("a token verifies against the JWKS", async () => {
    const { send, clock } = await openSandbox({ coverageTypes: ["g", "jp"] });
    const { json } = await send("POST", "/v1/auth", { body: goodAuthKey });
    const jwks = (await send("GET", "/.well-known/jwks.json")).json;
    const currentDate = new Date(clock.wallMs());
    const { payload } = await jwtVerify(json.token, createLocalJWKSet(jwks), { currentDate });
    expect(payload["operator"]).toEqual({ operatorId: "OP0000000001", coverageTypes: ["g", "jp"] });
    expect(JSON.stringify(jwks)).not.toContain('"d":');
  });

  test("a token lives one day unless the sign-in requests another lifetime", async () => {
    const { send } = await openSandbox();
    const lifetime = async (body: object): Promise<number> => {
      const { exp = 0, iat = 0 } = decodeJwt((await send("POST", "/v1/auth", { body })).json.token);
      return exp - iat;
    };
    expect(await lifetime(goodAuthKey)).toBe(86_400);
    expect(await lifetime({ ...goodAuthKey, tokenTimeoutSeconds: 180 })).toBe(180);
    expect(await lifetime({ ...goodAuthKey, tokenTimeoutSeconds: 172_800 })).toBe(172_800);
  });
});

describe("pairs", () => {
  test("an expired pair is refused", async () => {
    const { call, clock } = await openSandbox();
    expect((await call("GET", "/v1/sims")).status).toBe(200);
    clock.pass(86_399_999);
    expect((await call("GET", "/v1/sims")).status).toBe(200);
    clock.pass(1);
    const late = await call("GET", "/v1/sims");
    expect(late.status).toBe(401);
    expect(late.json.code).toBe("AUM0003");
    expect(quotaOf(late)).toEqual([600, 599, 60]);
  });

  test("a call needs both headers of the same pair", async () => {
    const { send, pair } = await openSandbox();
    const first = await pair();
    const second = (await send("POST", "/v1/auth", { body: goodAuthKey })).json;
    const codeOf = async (headers: Record<string, string>) => (await send("GET", "/v1/sims", { headers })).json.code;
    expect(await codeOf({})).toBe("AUM0001");
    expect(await codeOf({ "X-Svc-API-Key": first["X-Svc-API-Key"] ?? "" })).toBe("AUM0001");
    expect(await codeOf({ ...first, "X-Svc-Token": second.token })).toBe("AUM0002");
    expect(await codeOf({ ...first, "X-Svc-API-Key": "made-up" })).toBe("AUM0002");
  });

  test("pair and rate-limit headers use the name of the brand", async () => {
    const { send } = await openSandbox({ brand: "Acme" });
    const { json } = await send("POST", "/v1/auth", { body: goodAuthKey });
    const headers = { "X-Acme-API-Key": json.apiKey, "X-Acme-Token": json.token };
    const page = await send("GET", "/v1/sims?limit=1", { headers });
    expect(page.status).toBe(200);
    expect(page.headers.get("x-acme-ratelimit-limit")).toBe("600");
    expect(page.headers.get("x-acme-next-key")).toBeTruthy();
  });
});
