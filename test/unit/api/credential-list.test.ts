import { describe, expect, it } from "vitest";
import type { PlatformClientOptions } from "#api/client-options.ts";
import type { Credentials } from "#fleet/credentials.ts";
import { updateSimSpeedClass } from "../../support/speed-class.ts";
import { liveSecrets, Secret } from "#core/secrets/secret.ts";
import { answer, change, changed, refusalOf, startPlatform, clientTo } from "./support.ts";

function key(name: string): Credentials {
  return { kind: "auth-key", authKeyId: `keyId-${name}`, authKey: new Secret(`secret-${name}`) };
}

/** A platform that accepts the AuthKeys of `good` and their pairs, and a client with the given credentials. */
async function setup(credentials: PlatformClientOptions["credentials"], good: string[]) {
  let status = 400;
  const platform = await startPlatform((request, response) => {
    if (request.url !== "/v1/auth") {
      const isGood = good.some((id) => request.headers["x-svc-api-key"] === `api-${id}`);
      return isGood ? changed(request, response) : answer(response, 401, "");
    }
    const { authKeyId } = JSON.parse(request.text) as { authKeyId: string };
    if (!good.includes(authKeyId)) return answer(response, status, { code: "AUM0003", message: "no such key" });
    answer(response, 200, { operatorId: "OP1", apiKey: `api-${authKeyId}`, token: `token-${authKeyId}` });
  });
  const asked = () =>
    platform.seen.filter(({ path }) => path === "/v1/auth").map(({ body }) => /keyId-\w+/.exec(body)?.[0]);
  const refuseWith = (other: number) => {
    status = other;
  };
  return { ...clientTo(platform, { credentials }), asked, refuseWith };
}

describe("a client with two AuthKeys", () => {
  it("a client tries its second AuthKey when the first is refused and reports it", async () => {
    const forms = [key("a"), key("b")];
    const { client, asked, platform, events, permits } = await setup(() => forms, ["keyId-b"]);
    await client.call(updateSimSpeedClass, change);
    expect(asked()).toEqual(["keyId-a", "keyId-b"]);
    expect(platform.seen.at(-1)?.headers["x-svc-api-key"]).toBe("api-keyId-b");
    expect(events.filter(({ type }) => type === "auth-key-rejected")).toEqual([
      { type: "auth-key-rejected", authKeyId: "keyId-a", message: expect.stringContaining("no such key") },
    ]);
    expect(permits.requests.filter(({ bucket }) => bucket === "ip.here.Auth-auth").length).toBe(2);
  });

  it("a client names both AuthKeys when both are refused and does not try them again for each call", async () => {
    const forms = [key("a"), key("b")];
    const { client, asked } = await setup(() => forms, []);
    for (let i = 0; i < 5; i += 1) {
      const error = await refusalOf(client.call(updateSimSpeedClass, change));
      expect(error).toMatchObject({ code: "PLATFORM_UNAUTHORIZED", mayHaveApplied: false });
      expect(error.message).toMatch(/no such key.*keyId-a, keyId-b.*SIMFLEET_AUTH_KEY_ID/);
    }
    expect(asked()).toEqual(["keyId-a", "keyId-b"]);
  });

  it.each([429, 503])("a client does not try its second AuthKey when the first gets a %i response", async (status) => {
    const forms = [key("a"), key("b")];
    const { refuseWith, client, asked, events } = await setup(() => forms, ["keyId-b"]);
    refuseWith(status);
    await refusalOf(client.call(updateSimSpeedClass, change));
    expect(asked()).toEqual(["keyId-a"]);
    expect(events.some(({ type }) => type === "auth-key-rejected")).toBe(false);
  });
});

describe("a changing list of credentials", () => {
  it("a changed list of credentials takes effect on request without a failed call or a restart", async () => {
    let forms = [key("a")];
    const { client, asked, platform } = await setup(() => forms, ["keyId-a", "keyId-b"]);
    await client.call(updateSimSpeedClass, change);
    forms = [key("b"), key("a")];
    await client.call(updateSimSpeedClass, change);
    expect(asked()).toEqual(["keyId-a"]);
    expect(await client.renewNow()).toMatchObject({ operatorId: "OP1" });
    await client.call(updateSimSpeedClass, change);
    expect(asked()).toEqual(["keyId-a", "keyId-b"]);
    expect(platform.seen.at(-1)?.headers["x-svc-api-key"]).toBe("api-keyId-b");
  });

  it("a changed list of credentials takes effect at the next authentication after a 401", async () => {
    let forms = [key("a")];
    const good = ["keyId-a"];
    const { client, platform } = await setup(() => forms, good);
    await client.call(updateSimSpeedClass, change);
    forms = [key("b")];
    good.splice(0, 1, "keyId-b");
    await client.call(updateSimSpeedClass, change);
    expect(platform.seen.at(-1)?.headers["x-svc-api-key"]).toBe("api-keyId-b");
  });

  it("a failed renewal with changed credentials leaves the current pair in use", async () => {
    let forms = [key("a")];
    const { client, platform } = await setup(() => forms, ["keyId-a"]);
    await client.call(updateSimSpeedClass, change);
    forms = [key("gone")];
    expect(await refusalOf(client.renewNow())).toMatchObject({ code: "PLATFORM_UNAUTHORIZED" });
    await client.call(updateSimSpeedClass, change);
    expect(platform.seen.at(-1)?.headers["x-svc-api-key"]).toBe("api-keyId-a");
  });
});

describe("the verification of other credentials", () => {
  it("verifying other credentials leaves the current pair in use and retains no secret", async () => {
    const { client, platform, events } = await setup(() => [key("a")], ["keyId-a", "keyId-b"]);
    await client.call(updateSimSpeedClass, change);
    expect(await client.prove(key("b"))).toMatchObject({ operatorId: "OP1" });
    expect(liveSecrets()).not.toContain("token-keyId-b");
    await client.call(updateSimSpeedClass, change);
    expect(platform.seen.at(-1)?.headers["x-svc-api-key"]).toBe("api-keyId-a");
    expect(client.inUse).toMatchObject({ authKeyId: "keyId-a" });
    expect(JSON.stringify(events)).not.toContain("secret-a");
  });
});
