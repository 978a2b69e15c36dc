import { describe, expect, test } from "vitest";
import { openAll, openSandbox, quotaOf, refusalOf } from "./open-sandbox.ts";

const psk = { type: "psk", credentials: { key: "first" } };

describe("Credential Sets with all operations", () => {
  test("Credential Sets can be created, listed in order, changed, and deleted", async () => {
    const { call, clock } = await openAll();
    const startSeconds = clock.wallMs() / 1_000;
    await call("POST", "/v1/credentials/b", { body: { ...psk, description: "proxy" } });
    await call("POST", "/v1/credentials/a", { body: psk });
    clock.pass(60_000);
    const body = { type: "api-token-credentials", credentials: { token: "second" } };
    const changed = await call("PUT", "/v1/credentials/b", { body });
    const record = {
      credentialsId: "b",
      type: "api-token-credentials",
      credentials: {},
      createDateTime: startSeconds,
      updateDateTime: startSeconds + 60,
    };
    expect([changed.status, changed.json]).toEqual([200, record]);
    const listed = await call("GET", "/v1/credentials?limit=1");
    expect(listed.json).toEqual([record, expect.objectContaining({ credentialsId: "a" })]);
    expect(listed.headers.has("link")).toBe(false);
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

  test.each([
    ["x509", { key: "k", cert: "c", ca: "a" }],
    ["aws-credentials", { accessKeyId: "i", secretAccessKey: "s" }],
    ["aws-iam-role-credentials", { roleArn: "r", externalId: "e" }],
    ["azure-credentials", { policyName: "p", key: "k" }],
    ["azureIoT-credentials", { sharedAccessKeyName: "n", sharedAccessKey: "k" }],
    [
      "googleIoT-credentials",
      { projectId: "p", region: "r", registryId: "i", deviceId: "d", algorithm: "a", privateKey: "k" },
    ],
    ["google-service-account-json", { credentials: "{}" }],
    ["pubnub-credentials", { pubKey: "p", subKey: "s" }],
    ["username-password-credentials", { username: "u", password: "p" }],
  ])("a Credential Set of the type %s requires each of its fields", async (type, credentials) => {
    const { call } = await openAll();
    const put = (values: object) => call("PUT", "/v1/credentials/a", { body: { type, credentials: values } });
    await call("POST", "/v1/credentials/a", { body: psk });
    expect((await put(credentials)).status).toBe(200);
    for (const field of Object.keys(credentials)) {
      expect(refusalOf(await put({ ...credentials, [field]: undefined }))).toBe("400 CRE0001");
    }
  });

  test("a Credential Set of an unknown type accepts any fields, while a service account must be valid JSON", async () => {
    const { call } = await openAll();
    const create = async (type: string, credentials: object) =>
      (await call("POST", `/v1/credentials/${type}`, { body: { type, credentials } })).status;
    expect(await create("toString", { anything: 1 })).toBe(201);
    expect(await create("google-service-account-json", { credentials: "{" })).toBe(400);
  });

  test("a Credential Set shows when the platform last used it", async () => {
    const { call, sandbox, send, clock } = await openAll();
    await call("POST", "/v1/credentials/a", { body: psk });
    await call("POST", "/v1/credentials/b", { body: psk });
    clock.pass(5_000);
    sandbox.state.credentials.noteUse("a");
    clock.pass(5_000);
    await send("POST", "/_sandbox/credentials-used", { body: { credentialsId: "b" } });
    await call("PUT", "/v1/credentials/a", { body: psk });
    const [a, b] = (await call("GET", "/v1/credentials")).json;
    const nowSeconds = clock.wallMs() / 1_000;
    expect(a).toMatchObject({ lastUsedDateTime: nowSeconds - 5, updateDateTime: nowSeconds });
    expect(b).toMatchObject({ lastUsedDateTime: nowSeconds });
    expect(() => sandbox.state.credentials.noteUse("c")).toThrow("no Credential Set c");
    const unknown = await send("POST", "/_sandbox/credentials-used", { body: { credentialsId: "c" } });
    expect(unknown).toMatchObject({ status: 400, json: { message: "there is no Credential Set c" } });
  });

  test("a test can read the latest values of a Credential Set that no response shows", async () => {
    const { call, sandbox, send } = await openAll();
    const secretOf = () => sandbox.state.credentials.secretOf("a");
    const answers = [await call("POST", "/v1/credentials/a", { body: psk })];
    expect(secretOf()).toEqual({ key: "first" });
    answers.push(await call("PUT", "/v1/credentials/a", { body: { type: "psk", credentials: { key: "second" } } }));
    answers.push(await call("PUT", "/v1/credentials/a", { body: { type: "psk", credentials: { word: "refused" } } }));
    expect(secretOf()).toEqual({ key: "second" });
    answers.push(await call("GET", "/v1/credentials"), await send("GET", "/_sandbox/state"));
    await call("DELETE", "/v1/credentials/a");
    expect(secretOf()).toEqual({ key: "second" });
    for (const { text } of answers) expect(text).not.toMatch(/first|second/);
    await send("POST", "/_sandbox/reset");
    expect(secretOf()).toBeUndefined();
  });

  test("faults apply to Credential Set calls as well", async () => {
    const { call, sandbox, pair } = await openAll();
    await pair();
    sandbox.state.credentials.create("a", psk);
    sandbox.state.credentials.create("b", psk);
    sandbox.faults.next("truncated");
    await expect(call("DELETE", "/v1/credentials/a")).rejects.toThrow("fetch failed");
    sandbox.faults.next("html-502");
    expect((await call("DELETE", "/v1/credentials/b")).status).toBe(502);
    expect(sandbox.state.credentials.all.map(({ credentialsId }) => credentialsId)).toEqual(["b"]);
  });
});

describe("new Credential Sets", () => {
  const hushed = { description: "a key", type: "psk", credentials: { key: "hush" } };

  test("a new Credential Set is created without its values in the response", async () => {
    const { call, sandbox, clock } = await openSandbox();
    const { status, json, text } = await call("POST", "/v1/credentials/mqtt-psk", { body: hushed });
    expect(status).toBe(201);
    const nowSeconds = Math.floor(clock.wallMs() / 1_000);
    expect(json).toEqual({
      credentialsId: "mqtt-psk",
      description: "a key",
      type: "psk",
      credentials: {},
      createDateTime: nowSeconds,
      updateDateTime: nowSeconds,
    });
    expect(text).not.toContain("hush");
    expect(sandbox.state.credentials.secretOf("mqtt-psk")).toEqual({ key: "hush" });
  });

  test("an option sets the status code of a Credential Set creation", async () => {
    const { call } = await openSandbox({ createdStatus: 200 });
    expect((await call("POST", "/v1/credentials/a", { body: hushed })).status).toBe(200);
  });

  test("a Credential Set creation is refused for a duplicate, a malformed body, or more than 100 sets", async () => {
    const { call } = await openSandbox({ limits: { Credential: 1_000 } });
    const create = async (id: string, body: object = psk) => {
      const { status, json } = await call("POST", `/v1/credentials/${id}`, { body });
      return status === 201 ? 201 : [status, json.code];
    };
    for (let i = 0; i < 99; i += 1) expect(await create(`set-${i}`)).toBe(201);
    expect(await create("set-0")).toEqual([409, "CRE0002"]);
    expect(await create("a%2Fb")).toEqual([400, "CRE0001"]);
    expect(await create("x", { type: "psk", credentials: {} })).toEqual([400, "CRE0001"]);
    expect(await create("x", { credentials: { key: "k" } })).toEqual([400, "CRE0001"]);
    expect(await create("other-type", { type: "x509", credentials: { cert: "c" } })).toBe(201);
    expect(await create("one-more")).toEqual([400, "CRE0003"]);
  });
});

describe("the sandbox with core operations only", () => {
  test("core operations allow Credential Sets to be created but not changed or deleted", async () => {
    const { call } = await openSandbox();
    const body = { type: "x509", credentials: { key: "k" } };
    expect((await call("POST", "/v1/credentials/a", { body })).status).toBe(201);
    expect((await call("PUT", "/v1/credentials/a", { body })).json.code).toBe("SBX0405");
    expect((await call("DELETE", "/v1/credentials/a")).json.code).toBe("SBX0405");
  });
});
