import { describe, expect, it } from "vitest";
import type { PlatformClientOptions } from "#api/client-options.ts";
import type { Credentials } from "#fleet/credentials.ts";
import { oneTimeCode, readBase32 } from "#core/secrets/one-time-code.ts";
import { listSims } from "#api/operations/sims.ts";
import { Secret } from "#core/secrets/secret.ts";
import { answer, refusalOf, startPlatform, StillClock, clientTo } from "./support.ts";

describe("one-time codes", () => {
  // RFC 6238, appendix B, SHA-1
  it.each([
    [59, "94287082"],
    [1_111_111_109, "07081804"],
    [1_111_111_111, "14050471"],
    [1_234_567_890, "89005924"],
    [2_000_000_000, "69279037"],
    [20_000_000_000, "65353130"],
  ])("a one-time code at %i s matches the RFC test vector", (seconds, code) => {
    const key = Buffer.from("12345678901234567890");
    expect(oneTimeCode(key, { wallMs: seconds * 1_000, digits: 8 })).toBe(code);
    expect(oneTimeCode(key, { wallMs: seconds * 1_000 })).toBe(code.slice(2));
  });

  it("a base32 secret is read in the forms in which people copy it", () => {
    const rfc = Buffer.from("12345678901234567890");
    expect(readBase32("GEZD GNBV-gy3t QOJQ GEZDGNBVGY3TQOJQ")).toEqual(Uint8Array.from(rfc));
    expect(readBase32("MZXW6===")).toEqual(Uint8Array.from(Buffer.from("foo")));
    for (const text of ["", "====", "0189", "é"]) expect(readBase32(text)).toBeUndefined();
  });
});

/** A client with these credentials for three minutes, and what it sends to authenticate. */
async function setup(credentials: Credentials, changes: Partial<PlatformClientOptions> = {}) {
  const granted = { operatorId: "OP1", userName: "robot", apiKey: "k1", token: "t1" };
  const platform = await startPlatform((_, response) => answer(response, 200, granted));
  const sent = (): unknown => JSON.parse(platform.seen[0]?.body ?? "");
  return { ...clientTo(platform, { credentials: () => [credentials], ttlSeconds: 180, ...changes }), sent };
}

describe("authentication", () => {
  it("authentication sends the sub-user's one-time code, and the lifetime in the configured field", async () => {
    const clock = new StillClock();
    clock.epochMs = 59_000;
    clock.nowMs = 0;
    const user = { operatorId: "OP1", userName: "robot" };
    const secrets = { password: new Secret("pw-123"), mfaSecret: new Secret("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ") };
    const credentials: Credentials = { kind: "sub-user", ...user, ...secrets };
    const { client, sent } = await setup(credentials, { clock, ttlField: "tokenTimeoutSeconds" });
    expect(await client.whoAmI()).toMatchObject({ userName: "robot", expiresAtMs: 59_000 + 180_000 });
    expect(sent()).toEqual({ ...user, password: "pw-123", mfaOTPCode: "287082", tokenTimeoutSeconds: 180 });
  });

  it("authentication sends no lifetime when the platform definition names no field for it", async () => {
    const { client, sent } = await setup({ kind: "root", email: "a@b.example", password: new Secret("pw-123") });
    await client.whoAmI();
    expect(sent()).toEqual({ email: "a@b.example", password: "pw-123" });
  });

  it("refused authentication names the settings, is not repeated per call, and uses priority", async () => {
    const refused = { code: "AUM0003", message: "パスワードが違います" };
    const { platform, client, permits } = clientTo(
      await startPlatform((_, response) => answer(response, 400, refused)),
    );
    for (let i = 0; i < 20; i += 1) {
      const error = await refusalOf(client.call(listSims, {}));
      expect(error).toMatchObject({ code: "PLATFORM_UNAUTHORIZED", platformCode: "AUM0003", exitCode: 3 });
      expect(error.message).toMatch(/パスワードが違います.*SIMFLEET_AUTH_KEY_ID and SIMFLEET_AUTH_KEY/);
    }
    expect(platform.seen.length).toBe(1);
    expect(permits.requests).toMatchObject([{ bucket: "ip.here.Auth-auth", urgency: "priority" }]);
  });
});
