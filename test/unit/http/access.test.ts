import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { TokenOptions } from "#config/sections/http.ts";
import { systemClock } from "#core/time.ts";
import { openAccess } from "#http/auth/access.ts";
import { openTokens } from "#jobs/tokens/tokens.ts";
import { Keys } from "#redis/keys.ts";

const nowMs = 1_800_000_000_000;
const clock = { ...systemClock, wallMs: () => nowMs };
const tokenOf = (name: string, expiresAtMs?: number): TokenOptions => {
  return { name, role: "viewer", sha256: createHash("sha256").update(`sf_${name}`).digest("hex"), expiresAtMs };
};

const access = openAccess({
  clock,
  jwt: undefined,
  adminToken: "the-admin",
  tokens: [tokenOf("ci"), tokenOf("past", nowMs), tokenOf("soon", nowMs + 1)],
});

test("a bearer token identifies the owner of its hash until it expires", async () => {
  expect(await access.principalOf("Bearer sf_ci")).toEqual({ name: "ci", role: "viewer", kind: "token" });
  expect(await access.principalOf("bearer  sf_soon")).toMatchObject({ name: "soon" });
  expect(await access.principalOf("Bearer the-admin")).toEqual({ name: "admin", role: "admin", kind: "admin-token" });
});

test.each([
  undefined,
  "",
  "sf_ci",
  "Basic sf_ci",
  "Bearer",
  "Bearer sf_ci sf_ci",
  "Bearer sf_past",
  "Bearer sf_c",
  `Bearer ${createHash("sha256").update("sf_ci").digest("hex")}`,
  "Bearer a.b.c",
  `Bearer ${"x".repeat(9_000)}`,
])("the authorization header %s is rejected", async (header) => {
  await expect(access.principalOf(header)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
});

test("without Redis the tokens of the configuration are known, and no other is taken for an invalid one", async () => {
  const redis = { hget: () => Promise.reject(new Error("down")), hset: () => Promise.reject(new Error("down")) };
  const stored = openTokens({ redis: redis as never, keys: new Keys(), clock, configured: [] });
  const known = openAccess({ clock, jwt: undefined, adminToken: "the-admin", tokens: [tokenOf("ci")], stored });
  expect(await known.principalOf("Bearer the-admin")).toMatchObject({ name: "admin" });
  expect(await known.principalOf("Bearer sf_ci")).toMatchObject({ name: "ci" });
  const other = `Bearer sf_${"x".repeat(43)}`;
  await expect(known.principalOf(other)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
});

test("the last use of a token is written at most once a minute", () => {
  const written: number[] = [];
  const redis = { hset: (_: string, __: string, atMs: number) => Promise.resolve(written.push(atMs)) };
  let atMs = nowMs;
  const later = { ...clock, wallMs: () => atMs };
  const stored = openTokens({ redis: redis as never, keys: new Keys(), clock: later, configured: [] });
  for (const seconds of [0, 1, 59, 60, 61, 120]) {
    atMs = nowMs + seconds * 1_000;
    stored.noteUse("ci");
  }
  expect(written).toEqual([0, 60_000, 120_000].map((ms) => nowMs + ms));
});
