import { describe, expect, test } from "vitest";
import { goodAuthKey, openAll, quotaOf, refusalOf } from "./open-sandbox.ts";

const ofRoot = "/v1/operators/OP0000000001/auth_keys";
const ofUser = "/v1/operators/OP0000000001/users/robot/auth_keys";

const newKey = {
  authKeyId: expect.stringMatching(/^keyId-[0-9a-f]+$/) as unknown,
  authKey: expect.stringMatching(/^secret-[0-9a-f]+$/) as unknown,
};

describe("AuthKeys", () => {
  test.each([
    ["the Root user", ofRoot, 201, 1],
    ["the sub-user", ofUser, 200, 2],
  ])("the secret of a new AuthKey of %s is in the response of its creation alone", async (_, path, status, room) => {
    const { call, clock } = await openAll();
    clock.pass(60_000);
    const made = [];
    for (let i = 0; i < room; i += 1) made.push(await call("POST", path));
    for (const answer of made) expect(answer).toMatchObject({ status, json: newKey });
    expect(refusalOf(await call("POST", path))).toBe("400 AUM0024");
    const listed = await call("GET", path);
    const createDateTime = clock.wallMs() / 1_000;
    expect(listed.json.slice(-room)).toEqual(made.map(({ json }) => ({ authKeyId: json.authKeyId, createDateTime })));
    expect(listed.text).not.toContain("secret-");
  });

  /** New AuthKeys of the Root user and of a sub-user. */
  const openWithNewKeys = async () => {
    const opened = await openAll();
    const [root, robot] = [(await opened.call("POST", ofRoot)).json, (await opened.call("POST", ofUser)).json];
    return { ...opened, root, robot };
  };

  test("an AuthKey authenticates its owner", async () => {
    const { send, root, robot } = await openWithNewKeys();
    expect((await send("POST", "/v1/auth", { body: root })).json).not.toHaveProperty("userName");
    expect((await send("POST", "/v1/auth", { body: robot })).json).toMatchObject({ userName: "robot" });
  });

  test("an AuthKey shows when it was last accepted", async () => {
    const { call, send, clock, root, robot } = await openWithNewKeys();
    clock.pass(60_000);
    for (const body of [root, robot]) await send("POST", "/v1/auth", { body });
    clock.pass(60_000);
    expect((await send("POST", "/v1/auth", { body: { ...root, authKey: "wrong" } })).status).toBe(401);
    expect((await send("POST", "/v1/auth", { body: { ...root, tokenTimeoutSeconds: 1 } })).status).toBe(400);
    const nowSeconds = clock.wallMs() / 1_000;
    expect((await call("GET", ofRoot)).json).toEqual([
      { authKeyId: "keyId-sandbox", createDateTime: nowSeconds - 120, lastUsedDateTime: nowSeconds - 120 },
      { authKeyId: root.authKeyId, createDateTime: nowSeconds - 120, lastUsedDateTime: nowSeconds - 60 },
    ]);
    expect((await call("GET", ofUser)).json[0].lastUsedDateTime).toBe(nowSeconds - 60);
  });

  test("a revoked AuthKey no longer authenticates, frees its place, and leaves existing pairs valid", async () => {
    const { call, send } = await openAll();
    await call("POST", ofRoot);
    const revoked = await call("DELETE", `${ofRoot}/keyId-sandbox`);
    expect([revoked.status, revoked.text]).toEqual([204, ""]);
    expect(refusalOf(await send("POST", "/v1/auth", { body: goodAuthKey }))).toBe("401 AUM0011");
    expect((await call("POST", ofRoot)).status).toBe(201);
    expect(refusalOf(await call("DELETE", `${ofRoot}/keyId-sandbox`))).toBe("404 AUM0023");
  });
});

describe("token renewal", () => {
  const path = "/v1/operators/OP0000000001/token";

  test("token renewal issues a new token for the same API key while the old token stays valid until it expires", async () => {
    const { call, send, pair, clock } = await openAll();
    const before = await pair();
    clock.pass(80_000_000);
    const { status, json } = await call("POST", path, { body: { tokenTimeoutSeconds: 172_800 } });
    expect([status, Object.keys(json)]).toEqual([200, ["token"]]);
    const after = { ...before, "X-Svc-Token": json.token };
    expect((await call("GET", "/v1/sims")).status).toBe(200);
    clock.pass(6_400_000);
    expect((await call("GET", "/v1/sims")).json.code).toBe("AUM0003");
    expect((await send("GET", "/v1/sims", { headers: after })).status).toBe(200);
    clock.pass(172_800_000 - 6_400_000);
    expect((await send("GET", "/v1/sims", { headers: after })).json.code).toBe("AUM0003");
  });

  test("token renewal fails with 400 for an expired pair and with 401 without a pair", async () => {
    const { call, send, pair, clock } = await openAll();
    await pair();
    clock.pass(86_400_000);
    expect(refusalOf(await call("POST", path, { body: {} }))).toBe("400 AUM0015");
    expect((await send("POST", path, { body: {} })).status).toBe(401);
  });

  test("token renewal does not count as authentication", async () => {
    const { call, send } = await openAll({ limits: { Auth: 1 } });
    const renewed = await call("POST", path, { body: {} });
    expect([renewed.status, quotaOf(renewed)]).toEqual([200, [60, 59, 60]]);
    expect((await send("POST", "/v1/auth", { body: goodAuthKey })).status).toBe(429);
  });
});
