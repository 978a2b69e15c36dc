import { decodeJwt } from "jose";
import { describe, expect, it } from "vitest";
import { Secret } from "#core/secrets/secret.ts";
import { minuteMs, systemClock } from "#core/time.ts";
import { answer, startOpenPlatform } from "../api/support.ts";
import { type Answered, call, type GatewayChanges, gatewayTo, openGateway } from "./support.ts";

const token = "t".repeat(32);
const authenticate = (url: string, body: unknown, headers = {}): Promise<Answered> =>
  call(url, "/v1/auth", { method: "POST", headers, body: JSON.stringify(body) });
const headersOf = ({ text }: Answered): Record<string, string> => {
  const pair = JSON.parse(text) as Record<string, string>;
  return { "x-svc-api-key": pair["apiKey"] ?? "", "x-svc-token": pair["token"] ?? "" };
};
const setup = async (changes: GatewayChanges = {}) =>
  gatewayTo(await startOpenPlatform((_, response) => answer(response, 200, "[]")), changes);

describe("a tool that authenticates at the gateway", () => {
  it.each([
    ["an AuthKey", { authKeyId: "keyId-any", authKey: "any" }],
    ["an e-mail address", { email: "a@example.com", password: "any" }],
    ["a user's name", { operatorId: "OP1", userName: "u", password: "any" }],
  ])("gets a pair for %s, with the operator's ID, and no call is spent on it", async (_, credentials) => {
    const { platform, url } = await setup();
    const given = await authenticate(url, credentials);
    const pair = JSON.parse(given.text) as { apiKey: string; token: string; operatorId: string };
    expect(given.status).toBe(200);
    expect(decodeJwt(pair.token)).toMatchObject({ operator: { operatorId: pair.operatorId } });
    await authenticate(url, credentials);
    // The one authentication is the gateway's own.
    expect(platform.seen.filter(({ path }) => path === "/v1/auth")).toHaveLength(1);
    expect(platform.seen.map(({ body }) => body).join()).not.toContain("any");
    expect((await call(url, "/v1/files/1", { headers: headersOf(given) })).status).toBe(200);
    expect(platform.seen.at(-1)?.headers["x-svc-token"]).toBe("token-1");
  });

  it("gets the lifetime that it asks for, within the limits of the platform", async () => {
    const { url } = await setup({ ttlField: "tokenTimeoutSeconds" });
    const secondsOf = ({ text }: Answered): number => {
      const { exp = 0, iat = 0 } = decodeJwt((JSON.parse(text) as { token: string }).token);
      return exp - iat;
    };
    expect(secondsOf(await authenticate(url, {}))).toBe(86_400);
    expect(secondsOf(await authenticate(url, { tokenTimeoutSeconds: 600 }))).toBe(600);
    for (const tokenTimeoutSeconds of [179, 172_801, "600", Number.NaN]) {
      expect((await authenticate(url, { tokenTimeoutSeconds })).status).toBe(400);
    }
  });

  it("can renew its token, and the new one is good as well", async () => {
    const { platform, url } = await setup({ token: new Secret(token) });
    const headers = headersOf(await authenticate(url, { authKeyId: "any", authKey: token }));
    const renewed = await call(url, "/v1/operators/OP1/token", { method: "POST", headers, body: "{}" });
    expect(renewed.status).toBe(200);
    const next = { ...headers, "x-svc-token": (JSON.parse(renewed.text) as { token: string }).token };
    expect((await call(url, "/v1/files/1", { headers: next })).status).toBe(200);
    expect(platform.seen.some(({ path }) => path.endsWith("/token"))).toBe(false);
  });

  it.each(["{", "[]", '"text"', '{"authKey":1}'])("gets 400 for the body %s", async (body) => {
    const { url } = await setup();
    const answered = await call(url, "/v1/auth", { method: "POST", body });
    expect([answered.status, JSON.parse(answered.text)]).toMatchObject([400, { code: "REQUEST_INVALID" }]);
  });
});

describe("a gateway with a token", () => {
  it("gives no pair for a pair", async () => {
    const { url } = await setup({ token: new Secret(token) });
    const headers = headersOf(await authenticate(url, { authKeyId: "any", authKey: token }));
    expect((await authenticate(url, {}, headers)).status).toBe(401);
  });

  it.each([
    ["an AuthKey secret", { authKeyId: "any", authKey: token }, {}],
    ["a password", { email: "a@example.com", password: token }, {}],
    ["a bearer header", { authKeyId: "any", authKey: "any" }, { authorization: `Bearer ${token}` }],
  ])("takes it as %s, and admits calls with the pair", async (_, credentials, headers) => {
    const { url } = await setup({ token: new Secret(token) });
    const given = await authenticate(url, credentials, headers);
    expect(given.status).toBe(200);
    expect((await call(url, "/v1/files/1", { headers: headersOf(given) })).status).toBe(200);
    expect((await call(url, "/v1/files/1")).status).toBe(401);
  });

  it("refuses a wrong one in the platform's form, and further ones of the address with 429", async () => {
    const { platform, url } = await setup({ token: new Secret(token) });
    const wrong = (): Promise<Answered> => authenticate(url, { authKeyId: "any", authKey: "x".repeat(32) });
    const first = await wrong();
    const refusal = { code: "UNAUTHENTICATED", message: "Invalid or expired token" };
    expect([first.status, JSON.parse(first.text)]).toMatchObject([401, refusal]);
    for (let n = 0; n < 2; n += 1) expect((await wrong()).status).toBe(401);
    expect((await wrong()).status).toBe(429);
    expect((await authenticate(url, { authKey: token })).status).toBe(200);
    expect(platform.seen.filter(({ path }) => path === "/v1/auth").length).toBeLessThanOrEqual(1);
  });

  /** A gateway with a token, the status of a call with a pair, and pairs of other gateways to its platform. */
  const setupPairs = async (changes: GatewayChanges = {}) => {
    const usual = { token: new Secret(token), authFailuresPerMinute: 100 };
    const { platform, url } = await setup({ ...usual, ...changes });
    const pairOf = async (others: GatewayChanges, secret = token) => {
      await using other = await openGateway(platform.url, { ...usual, ...others });
      return headersOf(await authenticate(other.url, { authKey: secret }));
    };
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await call(url, "/v1/files/1", { headers })).status;
    return { pairOf, status };
  };

  it("refuses a pair of another key, of another token, and a mixed one", async () => {
    const { pairOf, status } = await setupPairs();
    // A replica on the same Redis.
    const own = await pairOf({});
    expect(await status(own)).toBe(200);
    expect(await status(await pairOf({ sharedKey: () => Promise.resolve("another") }))).toBe(401);
    const otherToken = "u".repeat(32);
    expect(await status(await pairOf({ token: new Secret(otherToken) }, otherToken))).toBe(401);
    const another = await pairOf({});
    expect(await status({ ...own, "x-svc-api-key": another["x-svc-api-key"] ?? "" })).toBe(401);
    expect(await status({ ...own, "x-svc-token": "a.b.c" })).toBe(401);
    const unsigned = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${own["x-svc-token"]?.split(".")[1]}.`;
    expect(await status({ ...own, "x-svc-token": unsigned })).toBe(401);
  });

  it("refuses a pair that has expired", async () => {
    const clock = { ...systemClock, wallMs: () => systemClock.wallMs() + 1_500 * minuteMs };
    const { pairOf, status } = await setupPairs({ clock });
    expect(await status(await pairOf({ clock }))).toBe(200);
    expect(await status(await pairOf({}))).toBe(401);
  });
});
