import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { TokenOptions } from "#config/sections/http.ts";
import { systemClock } from "#core/time.ts";
import { Access } from "#http/auth/access.ts";

const nowMs = 1_800_000_000_000;
const clock = { ...systemClock, wallMs: () => nowMs };
const storeDeps = (name: string, expiresAtMs?: number): TokenOptions => {
  return { name, role: "viewer", sha256: createHash("sha256").update(`sf_${name}`).digest("hex"), expiresAtMs };
};

const access = new Access({
  clock,
  jwt: undefined,
  adminToken: "the-admin",
  tokens: [storeDeps("ci"), storeDeps("past", nowMs), storeDeps("soon", nowMs + 1)],
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
