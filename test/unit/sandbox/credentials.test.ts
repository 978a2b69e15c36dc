import { describe, expect, test } from "vitest";
import { openAll, openSandbox, quotaOf, refusalOf } from "./open-sandbox.ts";

const psk = { type: "psk", credentials: { key: "first" } };

describe("Credential Sets with all operations", () => {
  test("Credential Sets can be created, listed in order, and changed", async () => {
    const { call, clock } = await openAll();
    const startSeconds = clock.wallMs() / 1_000;
    await call("POST", "/v1/credentials/b", { body: { ...psk, description: "proxy" } });
    await call("POST", "/v1/credentials/a", { body: psk });
    clock.pass(60_000);
    const body = { type: "api-token-credentials", credentials: { token: "second" } };
    const changed = await call("PUT", "/v1/credentials/b", { body });
    const times = { createDateTime: startSeconds, updateDateTime: startSeconds + 60 };
    const record = { credentialsId: "b", type: "api-token-credentials", credentials: {}, ...times };
    expect([changed.status, changed.json]).toEqual([200, record]);
    const listed = await call("GET", "/v1/credentials?limit=1");
    expect(listed.json).toEqual([record, expect.objectContaining({ credentialsId: "a" })]);
    expect(listed.headers.has("link")).toBe(false);
  });

  test("a Credential Set is deleted and leaves the list", async () => {
    const { call } = await openAll();
    for (const id of ["a", "b"]) await call("POST", `/v1/credentials/${id}`, { body: psk });
    const deleted = await call("DELETE", "/v1/credentials/b");
    expect([deleted.status, deleted.text]).toEqual([204, ""]);
    expect(quotaOf(deleted)).toEqual([60, 57, 60]);
    expect((await call("GET", "/v1/credentials")).json).toHaveLength(1);
  });

  test("the sandbox allows at most 100 Credential Sets, and deleting one frees its place", async () => {
    const { call, sandbox } = await openAll({ limits: { Credential: 1_000 } });
    for (let i = 0; i < 100; i += 1) sandbox.state.credentials.create(`set-${i}`, psk);
    const create = () => call("POST", "/v1/credentials/one-more", { body: psk });
    expect(refusalOf(await create())).toBe("400 CRE0003");
    expect((await call("PUT", "/v1/credentials/set-7", { body: psk })).status).toBe(200);
    await call("DELETE", "/v1/credentials/set-7");
    expect((await create()).status).toBe(201);
  });

  test("a Credential Set shows when the platform last used it", async () => {
    const { call, sandbox, send, clock } = await openAll();
    for (const id of ["a", "b"]) await call("POST", `/v1/credentials/${id}`, { body: psk });
    clock.pass(5_000);
    sandbox.state.credentials.noteUse("a");
    clock.pass(5_000);
    await send("POST", "/_sandbox/credentials-used", { body: { credentialsId: "b" } });
    await call("PUT", "/v1/credentials/a", { body: psk });
    const [a, b] = (await call("GET", "/v1/credentials")).json;
    const nowSeconds = clock.wallMs() / 1_000;
    expect(a).toMatchObject({ lastUsedDateTime: nowSeconds - 5, updateDateTime: nowSeconds });
    expect(b).toMatchObject({ lastUsedDateTime: nowSeconds });
    const unknown = await send("POST", "/_sandbox/credentials-used", { body: { credentialsId: "c" } });
    expect(unknown).toMatchObject({ status: 400, json: { message: "there is no Credential Set c" } });
  });
});

describe("new Credential Sets", () => {
  const hushed = { description: "a key", type: "psk", credentials: { key: "hush" } };

  test("a new Credential Set is created once, of any type, without its values in the response", async () => {
    const { call, sandbox, clock } = await openSandbox();
    const { status, json, text } = await call("POST", "/v1/credentials/mqtt-psk", { body: hushed });
    expect(status).toBe(201);
    const nowSeconds = Math.floor(clock.wallMs() / 1_000);
    const times = { createDateTime: nowSeconds, updateDateTime: nowSeconds };
    expect(json).toEqual({ ...hushed, credentialsId: "mqtt-psk", credentials: {}, ...times });
    expect(text).not.toContain("hush");
    expect(sandbox.state.credentials.secretOf("mqtt-psk")).toEqual({ key: "hush" });
    expect(refusalOf(await call("POST", "/v1/credentials/mqtt-psk", { body: hushed }))).toBe("409 CRE0002");
    const ofUnknownType = { type: "toString", credentials: { anything: 1 } };
    expect((await call("POST", "/v1/credentials/other", { body: ofUnknownType })).status).toBe(201);
  });
});
