/** JWTs of an identity provider, as the attacks on them are known. */
import { createHmac, generateKeyPairSync, type KeyObject } from "node:crypto";
import { exportJWK, SignJWT } from "jose";
import { describe, expect, test } from "vitest";
import type { JwtOptions } from "#config/sections/http.ts";
import { systemClock } from "#core/time.ts";
import { jwtReader } from "#http/auth/jwt.ts";
import { answer, startPlatform } from "../api/support.ts";

const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
const others = generateKeyPairSync("ec", { namedCurve: "P-256" });
const publicKeyPem = keys.publicKey.export({ type: "spki", format: "pem" }).toString();
const nowSeconds = 1_800_000_000;
const clock = { ...systemClock, wallMs: () => nowSeconds * 1_000 };

const options: JwtOptions = {
  issuer: "https://login.example.com/",
  audience: "simfleet",
  keys: { publicKeyPem },
  algorithms: ["ES256", "RS256", "EdDSA"],
  roleClaim: ["realm", "roles"],
  roles: {
    ops: "operator",
    bosses: "admin",
  },
};

const good = {
  iss: options.issuer,
  aud: "simfleet",
  sub: "anna",
  nbf: nowSeconds - 60,
  exp: nowSeconds + 60,
  realm: { roles: ["ops", "everyone"] },
};

function signed(claims: object, key: KeyObject = keys.privateKey): Promise<string> {
  return new SignJWT({ ...claims }).setProtectedHeader({ alg: "ES256" }).sign(key);
}

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

const reader = jwtReader(options, clock);

test("a valid JWT yields the name of its bearer and the highest role in its claim", async () => {
  expect(await reader.principalOf(await signed(good))).toEqual({
    name: "anna",
    role: "operator",
    kind: "jwt",
    expiresAtMs: (good.exp + 30) * 1e3,
  });
  const boss = await signed({ ...good, aud: ["other", "simfleet"], realm: { roles: ["ops", "bosses"] } });
  expect(await reader.principalOf(boss)).toMatchObject({ role: "admin" });
});

// Shows S10.
describe("rejected JWTs", () => {
  test.each([
    ["of another issuer", { iss: "https://evil.example.com/" }],
    ["for another audience", { aud: "other" }],
    ["without an audience", { aud: undefined }],
    ["that is over", { exp: nowSeconds - 31 }],
    ["that never ends", { exp: undefined }],
    ["that has not begun", { nbf: nowSeconds + 31 }],
    ["that does not say when it begins", { nbf: undefined }],
    ["of nobody", { sub: undefined }],
  ])("a JWT %s is rejected", async (_, change) => {
    const token = await signed({ ...good, ...change });
    await expect(reader.principalOf(token)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  });

  test("a JWT signed by another key or with modified claims is rejected", async () => {
    const [head, , signature] = (await signed(good)).split(".");
    const forged = `${head}.${base64url({ ...good, realm: { roles: ["bosses"] } })}.${signature}`;
    await expect(reader.principalOf(forged)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    await expect(reader.principalOf(await signed(good, others.privateKey))).rejects.toMatchObject({
      code: "UNAUTHENTICATED",
    });
  });

  test("a JWT without an algorithm or signed with the public key as a shared secret is rejected", async () => {
    const none = `${base64url({ alg: "none" })}.${base64url(good)}.`;
    const unsigned = `${base64url({ alg: "HS256" })}.${base64url(good)}`;
    const shared = `${unsigned}.${createHmac("sha256", publicKeyPem).update(unsigned).digest("base64url")}`;
    for (const token of [none, shared]) {
      await expect(reader.principalOf(token)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    }
  });

  test("a JWT without a known role is forbidden, even for names of Object properties", async () => {
    for (const roles of [["everyone"], "constructor", undefined, { ops: true }]) {
      const token = await signed({ ...good, realm: { roles } });
      await expect(reader.principalOf(token)).rejects.toMatchObject({ code: "FORBIDDEN" });
    }
  });
});

test("a JWT is accepted with up to 30 seconds of clock difference", async () => {
  const early = await signed({ ...good, nbf: nowSeconds + 29, exp: nowSeconds + 60 });
  const late = await signed({ ...good, exp: nowSeconds - 29 });
  for (const token of [early, late]) expect(await reader.principalOf(token)).toMatchObject({ name: "anna" });
});

test("JWT keys are fetched from the issuer, and authentication fails as overloaded while it is down", async () => {
  const jwk = { ...(await exportJWK(keys.publicKey)), kid: "1", alg: "ES256" };
  let isUp = false;
  await using issuer = await startPlatform((_, response) => answer(response, isUp ? 200 : 500, { keys: [jwk] }));
  const remote = jwtReader({ ...options, keys: { jwksUrl: `${issuer.url}/keys` } }, clock);
  const token = await new SignJWT({ ...good }).setProtectedHeader({ alg: "ES256", kid: "1" }).sign(keys.privateKey);
  await expect(remote.principalOf(token)).rejects.toMatchObject({ code: "OVERLOADED" });
  isUp = true;
  expect(await remote.principalOf(token)).toMatchObject({ name: "anna" });
});
