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
  const call = () => opened.client.call(updateSimSpeedClass, change);
  /** Makes a call with a young pair and one with an old pair, and waits until that one is renewed or `isOver`. */
  const renew = async (isOver = () => renewals().length === 2) => {
    await call();
    clock.pass(lifetimeMs - 18_000);
    await call();
    await until(isOver);
  };
  return { ...opened, clock, renewals, call, renew };
}

const newToken: Handler = (_request, response) => answer(response, 200, { token: "token-renewed" });

describe("token renewal", () => {
  it("token renewal spends the quota of the account, not that of the address, with priority", async () => {
    const { permits, renew } = await setup(newToken);
    await renew();
    expect(permits.requests).toContainEqual(
      expect.objectContaining({ bucket: "default.Operator", urgency: "priority" }),
    );
  });

  it("token renewal uses the headers of the current pair and keeps its API key", async () => {
    const { call, platform, renewals, renew } = await setup(newToken);
    await renew();
    await call();
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
    const withoutField = { renewToken: renewToken && { ...renewToken, ttlField: undefined } };
    for (const [changes, body] of [
      [{}, '{"tokenTimeoutSeconds":86400}'],
      [withoutField, "{}"],
    ] as const) {
      const { client, clock, renewals, platform } = await setup(newToken, { ttlSeconds: undefined, ...changes });
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
    const { platform, renewals, renew } = await setup((_request, response) => answer(response, status, body));
    await renew();
    expect(renewals()).toEqual(["first by auth", "early by auth"]);
    expect(platform.auths()).toBe(2);
  });

  it.each([503, 429])(
    "token renewal leaves the pair in use after %i and authenticates once the pair has expired",
    async (status) => {
      const refusing: Handler = (_request, response) => answer(response, status, "");
      const { call, clock, platform, events, renewals, renew } = await setup(refusing);
      await renew(() => events.some((event) => event.type === "renewal-failed"));
      await call();
      expect(platform.auths()).toBe(1);
      clock.pass(18_000);
      await call();
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
    const tokens = liveSecrets().filter((value) => value.startsWith("watched-"));
    expect(tokens.toSorted()).toEqual(["watched-r2", "watched-r3"]);
    expect(liveSecrets()).toContain("api-key-1");
  });
});
