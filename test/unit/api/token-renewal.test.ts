import { describe, expect, it } from "vitest";
import type { PlatformClientOptions } from "#api/client-options.ts";
import type { Credentials } from "#fleet/credentials.ts";
import { updateSimSpeedClass } from "../../support/speed-class.ts";
import { loadDeployment } from "#config/deployment.ts";
import { liveSecrets, Secret } from "#core/secrets/secret.ts";
import { type Handler, answer, change, changed, startOpenPlatform, StillClock, until, clientTo } from "./support.ts";

const { renewToken } = loadDeployment("soracom", []).operations;
const tokenPath = "/v1/operators/OP1/token";
const lifetimeMs = 180_000;

/** A client whose pair holds for three minutes and is renewed in the last 18 s; the platform answers `onToken`. */
async function setup(onToken: Handler, changes: Partial<PlatformClientOptions> = {}) {
  const platform = await startOpenPlatform((request, response) =>
    request.url === tokenPath ? onToken(request, response) : changed(request, response),
  );
  const clock = new StillClock();
  const lifetime = { renewToken, ttlField: "tokenTimeoutSeconds", ttlSeconds: 180, chance: () => 0 };
  const opened = clientTo(platform, { clock, ...lifetime, ...changes });
  const renewals = () =>
    opened.events.flatMap((event) => (event.type === "renewed" ? `${event.reason} by ${event.by}` : []));
  return { ...opened, clock, renewals };
}

const newToken: Handler = (_request, response) => answer(response, 200, { token: "token-renewed" });

describe("token renewal", () => {
  it("token renewal uses the headers of the current pair, keeps its API key, and spends the account quota with priority", async () => {
    const { client, clock, permits, platform, renewals } = await setup(newToken);
    await client.call(updateSimSpeedClass, change);
    clock.pass(lifetimeMs - 18_000);
    await client.call(updateSimSpeedClass, change);
    await until(() => renewals().length === 2);
    await client.call(updateSimSpeedClass, change);
    // The account's quota, not that of the address.
    expect(permits.requests).toContainEqual(
      expect.objectContaining({ bucket: "default.Operator", urgency: "priority" }),
    );
    const renewal = platform.seen.find(({ path }) => path === tokenPath);
    expect(renewal).toMatchObject({ method: "POST", body: '{"tokenTimeoutSeconds":180}' });
    expect(renewal?.headers).toMatchObject({ "x-svc-api-key": "api-key-1", "x-svc-token": "token-1" });
    expect(platform.seen.at(-1)?.headers).toMatchObject({
      "x-svc-api-key": "api-key-1",
      "x-svc-token": "token-renewed",
    });
    expect(platform.auths()).toBe(1);
    expect(renewals()).toEqual(["first by auth", "early by token"]);
  });

  it("token renewal requests one day by default and no lifetime when the platform definition names no field", async () => {
    for (const [description, body] of [
      [renewToken, '{"tokenTimeoutSeconds":86400}'],
      [renewToken && { ...renewToken, ttlField: undefined }, "{}"],
    ] as const) {
      const { client, clock, renewals, platform } = await setup(newToken, {
        renewToken: description,
        ttlSeconds: undefined,
      });
      await client.whoAmI();
      clock.pass(86_400_000 - 300_000);
      await client.whoAmI();
      await until(() => renewals().length === 2);
      expect(platform.seen.at(-1)).toMatchObject({ path: tokenPath, body });
    }
  });

  it.each([
    ["400, the pair has ended", 400, '{"code":"AUM0001","message":"expired"}'],
    ["401", 401, ""],
    ["403", 403, '{"code":"AUM0002","message":"not permitted"}'],
    ["404, there is no such operation", 404, "<html>"],
    ["405", 405, ""],
    ["200 without a token", 200, "{}"],
    ["200 with a token that cannot be a header", 200, '{"token":"a\\r\\nb"}'],
  ])("token renewal falls back to authentication after %s", async (_words, status, body) => {
    const { client, clock, platform, renewals } = await setup((_request, response) => answer(response, status, body));
    await client.call(updateSimSpeedClass, change);
    clock.pass(lifetimeMs - 18_000);
    await client.call(updateSimSpeedClass, change);
    await until(() => renewals().length === 2);
    expect(renewals()).toEqual(["first by auth", "early by auth"]);
    expect(platform.auths()).toBe(2);
  });

  it.each([503, 429])(
    "token renewal leaves the pair in use after %i and authenticates once the pair has expired",
    async (status) => {
      const { client, clock, platform, events, renewals } = await setup((_request, response) =>
        answer(response, status, ""),
      );
      await client.call(updateSimSpeedClass, change);
      clock.pass(lifetimeMs - 18_000);
      await client.call(updateSimSpeedClass, change);
      await until(() => events.some((event) => event.type === "renewal-failed"));
      await client.call(updateSimSpeedClass, change);
      expect(platform.auths()).toBe(1);
      clock.pass(18_000);
      await client.call(updateSimSpeedClass, change);
      expect(renewals()).toEqual(["first by auth", "expired by auth"]);
    },
  );

  it("changed credentials cause authentication instead of a token renewal", async () => {
    let forms: Credentials[] = [{ kind: "auth-key", authKeyId: "keyId-1", authKey: new Secret("secret-one") }];
    const { client, clock, platform, renewals } = await setup(newToken, { credentials: () => forms });
    await client.whoAmI();
    forms = [{ kind: "auth-key", authKeyId: "keyId-2", authKey: new Secret("secret-two") }];
    clock.pass(lifetimeMs - 18_000);
    await client.whoAmI();
    await until(() => renewals().length === 2);
    expect(renewals()).toEqual(["first by auth", "early by auth"]);
    expect(platform.seen.at(-1)?.body).toContain("keyId-2");
  });

  it("token renewal unregisters old tokens as secrets but keeps the API key registered", async () => {
    let count = 0;
    const { client, clock, renewals } = await setup((_request, response) =>
      answer(response, 200, { token: `watched-r${(count += 1)}` }),
    );
    await client.whoAmI();
    for (let round = 2; round <= 4; round += 1) {
      clock.pass(lifetimeMs - 18_000);
      await client.whoAmI();
      await until(() => renewals().length === round);
    }
    expect(
      liveSecrets()
        .filter((value) => value.startsWith("watched-"))
        .toSorted(),
    ).toEqual(["watched-r2", "watched-r3"]);
    expect(liveSecrets()).toContain("api-key-1");
  });
});
