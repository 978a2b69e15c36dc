import { expect, it } from "vitest";
import type { ClientEvent } from "#api/client-options.ts";
import type { CredentialForm } from "#api/auth/credential-form.ts";
import { updateSimSpeedClass } from "../../support/speed-class.ts";
import { Secret, liveSecrets } from "#core/secret.ts";
import { answer, change, changed, clientFor, refusalOf, startPlatform } from "./support.ts";

function key(name: string): CredentialForm {
  return { kind: "auth-key", authKeyId: `keyId-${name}`, authKey: new Secret(`secret-${name}`) };
}

/** A platform that knows the AuthKeys `a` and `b`, and a client with `a`. */
async function open() {
  const platform = await startPlatform((request, response) => {
    if (request.url !== "/v1/auth") return changed(request, response);
    const { authKeyId } = JSON.parse(request.text) as { authKeyId: string };
    if (!/^keyId-[ab]$/.test(authKeyId)) return answer(response, 401, { code: "AUM0011", message: "no such key" });
    answer(response, 200, { operatorId: "OP1", apiKey: `api-${authKeyId}`, token: `token-of-${authKeyId}` });
  });
  const events: ClientEvent[] = [];
  const client = clientFor(platform.url, { credentials: key("a"), onEvent: (event) => events.push(event) });
  const close = async () => {
    await client.close();
    await platform[Symbol.asyncDispose]();
  };
  return { client, platform, events, [Symbol.asyncDispose]: close };
}

it("verifying other credentials leaves the current pair in use and retains no secret", async () => {
  await using world = await open();
  await world.client.call(updateSimSpeedClass, change);
  expect(await world.client.prove(key("b"))).toMatchObject({ operatorId: "OP1" });
  expect(liveSecrets()).not.toContain("token-of-keyId-b");
  await world.client.call(updateSimSpeedClass, change);
  expect(world.platform.seen.at(-1)?.headers["x-svc-api-key"]).toBe("api-keyId-a");
});

it("refused credentials fail only their own verification", async () => {
  await using world = await open();
  await world.client.call(updateSimSpeedClass, change);
  expect(await refusalOf(world.client.prove(key("wrong")))).toMatchObject({ code: "PLATFORM_UNAUTHORIZED" });
  await world.client.call(updateSimSpeedClass, change);
  expect(world.events.some(({ type }) => type === "auth-key-refused")).toBe(false);
});

it("a client reports the AuthKey that its pair was issued for", async () => {
  await using world = await open();
  expect(world.client.inUse).toBeUndefined();
  await world.client.whoAmI();
  expect(world.client.inUse).toMatchObject({ authKeyId: "keyId-a" });
  expect(world.events).toContainEqual(expect.objectContaining({ type: "renewed", authKeyId: "keyId-a" }));
  expect(JSON.stringify(world.events)).not.toContain("secret-a");
});
