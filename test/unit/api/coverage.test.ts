import type { ServerResponse } from "node:http";
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from "jose";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { PlatformClientOptions } from "#api/client-options.ts";
import { addressFor, authAddress, routesOf } from "#api/auth/coverage.ts";
import { listSims } from "#api/operations/sims.ts";
import { answer, refusalOf, startPlatform, StillClock, clientTo } from "./support.ts";

const global = "https://g.example";
const japan = "https://jp.example";
const both = { global, japan };

function hostFor(
  ...[endpoints, configured, claimed]: [
    Parameters<typeof routesOf>[0],
    "g" | "jp" | undefined,
    ("g" | "jp")[] | undefined,
  ]
): string {
  return addressFor(routesOf(endpoints), { configured, claimed }).host;
}

describe("address selection", () => {
  it("a call goes to the address of the configured coverage", () => {
    expect(hostFor(both, "g", undefined)).toBe("g.example");
    expect(hostFor(both, "jp", ["g", "jp"])).toBe("jp.example");
  });

  it("a call goes to the address that the verified claims name, or else to the only one", () => {
    expect(hostFor(both, undefined, ["jp"])).toBe("jp.example");
    expect(hostFor({ global }, undefined, ["g", "jp"])).toBe("g.example");
    expect(hostFor({ japan }, undefined, undefined)).toBe("jp.example");
    expect(hostFor({ japan }, undefined, [])).toBe("jp.example");
  });

  it("the client refuses to guess between two addresses", () => {
    expect(() => hostFor(both, undefined, undefined)).toThrow(/SIMFLEET_COVERAGE/);
    expect(() => hostFor(both, undefined, ["g", "jp"])).toThrow(/SIMFLEET_COVERAGE/);
  });

  it("a call is refused when the account lacks the configured coverage", () => {
    expect(() => hostFor(both, "g", ["jp"])).toThrow(/coverage is jp \(Japan\) by its token.*set to g \(Global\)/);
    expect(() => hostFor({ global }, undefined, ["jp"])).toThrow(/SIMFLEET_COVERAGE/);
  });

  it("authentication can use any address and prefers the one of the profile", () => {
    expect(authAddress(routesOf(both), "jp").host).toBe("jp.example");
    expect(authAddress(routesOf({ japan }), undefined).host).toBe("jp.example");
  });
});

type Signer = Awaited<ReturnType<typeof makeSigner>>;

async function makeSigner(alg: "ES256" | "RS256", kid: string) {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const sign = (claims: Record<string, unknown>): Promise<string> =>
    new SignJWT(claims).setProtectedHeader({ alg, kid }).sign(privateKey);
  return {
    pem: await exportSPKI(publicKey),
    jwk: { ...(await exportJWK(publicKey)), kid, alg },
    sign,
  };
}

const clock = new StillClock();
const anyCoverage = { name: "p", coverage: undefined, wording: "sims" } as const;

/** A client that gets these tokens, one after the other, and by default verifies them with the key set. */
async function setup(
  tokens: string[],
  answerKeys: (response: ServerResponse) => void,
  changes: Partial<PlatformClientOptions> = {},
) {
  const platform = await startPlatform((request, response) => {
    if (request.url === "/jwks") return answerKeys(response);
    if (request.url !== "/v1/auth") return answer(response, 200, []);
    answer(response, 200, { operatorId: "OP1", apiKey: "k", token: tokens.shift() });
  });
  return clientTo(platform, { clock, tokenVerification: { jwksUrl: `${platform.url}/jwks` }, ...changes });
}

const noKeys = (): never => {
  throw new Error("The key set is not needed");
};
const nowSeconds = Math.floor(clock.wallMs() / 1_000);
const claims = {
  operator: { coverageTypes: ["jp", "moon"] },
  exp: nowSeconds + 3_600,
  iat: nowSeconds,
};

const base64url = (text: string): string => Buffer.from(text).toString("base64url");
/** A token without a signature. */
const none = `${base64url('{"alg":"none"}')}.${base64url(JSON.stringify(claims))}.`;

/** A token that takes the public key for a shared secret. */
function sharedBy({ pem }: Signer): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(new TextEncoder().encode(pem));
}

const noKeySet = {
  code: "PLATFORM_RESPONSE_INVALID",
  message: expect.stringMatching(/without a key set. Check SIMFLEET_JWKS_URL/) as unknown,
};
const tooLarge = { message: expect.stringContaining("auth (key set)") as unknown };

// Shows S20.
describe("token claims", () => {
  it.each(["ES256", "RS256"] as const)(
    "token claims count when the public key verifies their signature (%s)",
    async (alg) => {
      const { sign, pem } = await makeSigner(alg, "k1");
      const byKey = { profile: anyCoverage, tokenVerification: { publicKeyPem: pem } };
      const { client } = await setup([await sign(claims)], noKeys, byKey);
      expect(await refusalOf(client.call(listSims, {}))).toMatchObject({ code: "PLATFORM_FORBIDDEN" });
      const expiresAtMs = (nowSeconds + 3_600) * 1_000;
      expect(await client.whoAmI()).toMatchObject({ coverageTypes: ["jp"], expiresAtMs });
    },
  );

  /** A client that gets a token of an old key, and then those of the next one, with time that the test moves. */
  async function setupNextKey() {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const [old, next] = [await makeSigner("ES256", "old"), await makeSigner("ES256", "next")] as [Signer, Signer];
    const good = { ...claims, operator: { coverageTypes: ["g"] } };
    const published = [old.jwk];
    const tokens = [await old.sign(good), await next.sign(good), await next.sign(good), await next.sign(good)];
    const ticking = new StillClock();
    const answerKeys = (response: ServerResponse): void => answer(response, 200, { keys: published });
    const { platform, client } = await setup(tokens, answerKeys, { clock: ticking });
    const fetches = (): number => platform.seen.filter((call) => call.path === "/jwks").length;
    const pass = (ms: number): void => {
      ticking.pass(ms);
      vi.setSystemTime(Date.now() + ms); // jose reads it
    };
    return { client, ticking, fetches, pass, publishNext: () => published.push(next.jwk) };
  }

  it("the key set is fetched again for an unknown key at most every 30 seconds", async () => {
    const { client, ticking, fetches, pass, publishNext } = await setupNextKey();
    await client.call(listSims, {});
    expect(fetches()).toBe(1);
    pass(29_000);
    ticking.pass(3_600_000);
    expect(await refusalOf(client.whoAmI())).toMatchObject({ code: "PLATFORM_RESPONSE_INVALID" });
    expect(fetches()).toBe(1);
    publishNext();
    pass(3_600_000);
    expect((await client.whoAmI()).coverageTypes).toEqual(["g"]);
    expect(fetches()).toBe(2);
  });

  it.each<[string, answerKeys: (response: ServerResponse, jwk: object) => void, refusal: object]>([
    ["has a key without its parts", (response) => answer(response, 200, { keys: [{ kid: "k1" }] }), noKeySet],
    ["is a page", (response) => response.end("<html>"), noKeySet],
    ["is not found", (response) => answer(response, 404, {}), noKeySet],
    ["is redirected", (response) => response.writeHead(302, { location: "/redirected" }).end(), noKeySet],
    ["is not available", (response) => answer(response, 503, {}), { code: "PLATFORM_UNAVAILABLE" }],
    ["is large", (response, jwk) => answer(response, 200, { keys: [jwk], more: "x".repeat(70_000) }), tooLarge],
  ])("a key set that %s is rejected", async (_, answerKeys, refusal) => {
    const { sign, jwk } = await makeSigner("ES256", "k1");
    const transport = { maxBodyBytes: 65_536 };
    const { platform, client } = await setup([await sign(claims)], (to) => answerKeys(to, jwk), { transport });
    expect(await refusalOf(client.whoAmI())).toMatchObject(refusal);
    expect(platform.seen.some((call) => call.path === "/redirected")).toBe(false);
  });

  it("a forged token makes the pair unusable, and the error does not show the token", async () => {
    const [real, forger] = [await makeSigner("ES256", "k1"), await makeSigner("ES256", "k1")] as [Signer, Signer];
    for (const token of [await forger.sign(claims), none, await sharedBy(real), "x", `${await real.sign(claims)}x`]) {
      for (const changes of [{ tokenVerification: { publicKeyPem: real.pem } }, {}]) {
        const publish = (response: ServerResponse): void => answer(response, 200, { keys: [real.jwk] });
        const { platform, client } = await setup([token], publish, changes);
        const error = await refusalOf(client.call(listSims, {}));
        expect(error.code).toBe("PLATFORM_RESPONSE_INVALID");
        expect(error.message).toMatch(/signature of the platform's token is not valid.*SIMFLEET_JWKS_URL/);
        if (token.length > 5) expect(error.message).not.toContain(token);
        expect(platform.seen.some((call) => call.path.startsWith("/v1/sims"))).toBe(false);
      }
    }
  });

  it("a token that expires earlier than requested ends its pair then, even when the local clock is wrong", async () => {
    const signer = await makeSigner("ES256", "k1");
    const wrong = new StillClock();
    wrong.epochMs += 10 * 86_400_000;
    for (const at of [clock, wrong]) {
      const byKey = { profile: anyCoverage, clock: at, tokenVerification: { publicKeyPem: signer.pem } };
      const { client } = await setup([await signer.sign(claims)], noKeys, byKey);
      expect((await client.whoAmI()).expiresAtMs).toBe(at.wallMs() + 3_600_000);
    }
  });
});
