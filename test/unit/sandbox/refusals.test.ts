import { describe, expect, test } from "vitest";
import { goodAuthKey, openSandbox, quotaOf, refusalOf, root, user } from "./open-sandbox.ts";
import { openPreparedSim, simId } from "./sim-actions/prepared-sim.ts";

const sim = `/v1/sims/${simId}`;
const operator = "/v1/operators/OP0000000001";
const configuration = "/v1/groups/91e5bb07-meters/configuration";
const psk = { type: "psk", credentials: { key: "k" } };
const aClass = { speedClass: "s1.fast" };
const nothing = undefined;

describe("a call that the sandbox refuses", () => {
  test.each<[line: string, body: unknown, refusal: string]>([
    // Sign-in: no form, two, half a second one, half of one, a wrong type; wrong values; lifetimes.
    ["POST /v1/auth", {}, "400 AUM0010"],
    ["POST /v1/auth", { ...root, ...goodAuthKey }, "400 AUM0010"],
    ["POST /v1/auth", { ...root, authKeyId: "keyId-sandbox" }, "400 AUM0010"],
    ["POST /v1/auth", { email: "root@example.com" }, "400 AUM0010"],
    ["POST /v1/auth", { ...root, password: 7 }, "400 AUM0010"],
    ["POST /v1/auth", { ...root, password: "wrong" }, "401 AUM0011"],
    ["POST /v1/auth", { ...user, operatorId: "OP0000000002" }, "401 AUM0011"],
    ["POST /v1/auth", { ...goodAuthKey, authKey: "wrong" }, "401 AUM0011"],
    ["POST /v1/auth", { ...goodAuthKey, tokenTimeoutSeconds: 179 }, "400 AUM0014"],
    ["POST /v1/auth", { ...goodAuthKey, tokenTimeoutSeconds: 172_801 }, "400 AUM0014"],
    ["POST /v1/auth", { ...goodAuthKey, tokenTimeoutSeconds: 1.5 }, "400 AUM0014"],
    ["POST /v1/auth", { ...goodAuthKey, tokenTimeoutSeconds: "600" }, "400 AUM0014"],
    [`POST ${operator}/token`, { tokenTimeoutSeconds: 179 }, "400 AUM0014"],
    // Another operator, and an unknown sub-user.
    ["POST /v1/operators/OP2/token", {}, "403 AUM0020"],
    ["GET /v1/operators/OP2/auth_keys", nothing, "403 AUM0020"],
    ["GET /v1/operators/OP2/users/robot/auth_keys", nothing, "403 AUM0020"],
    [`GET ${operator}/users/nobody/auth_keys`, nothing, "404 AUM0022"],
    // Speed classes: an unknown SIM, the wrong kind of ID, and bodies.
    ["POST /v1/sims/8942310000000000000/update_speed_class", aClass, "404 SIM0001"],
    ["POST /v1/sims/{imsi}/update_speed_class", aClass, "404 SIM0001"],
    [`POST /v1/subscribers/${simId}/update_speed_class`, aClass, "404 SIM0001"],
    ["POST /v1/sims/%E0%A4%A/update_speed_class", aClass, "404 SIM0001"],
    [`POST ${sim}/update_speed_class`, {}, "400 SIM0002"],
    [`POST ${sim}/update_speed_class`, { speedClass: 5 }, "400 SIM0002"],
    [`POST ${sim}/update_speed_class`, { speedClass: "s1.warp" }, "400 SIM0003"],
    [`POST ${sim}/update_speed_class`, "{", "400 SBX0001"],
    [`POST ${sim}/update_speed_class`, [], "400 SBX0001"],
    [`POST ${sim}/update_speed_class`, "", "400 SBX0001"],
    // Pages.
    ["GET /v1/sims?limit=0", nothing, "400 SIM0005"],
    ["GET /v1/sims?limit=-1", nothing, "400 SIM0005"],
    ["GET /v1/sims?limit=1.5", nothing, "400 SIM0005"],
    ["GET /v1/sims?limit=many", nothing, "400 SIM0005"],
    ["GET /v1/sims?limit=", nothing, "400 SIM0005"],
    ["GET /v1/sims?last_evaluated_key=made-up", nothing, "400 SIM0004"],
    ["GET /v1/sims?last_evaluated_key=", nothing, "400 SIM0004"],
    // Actions on one SIM.
    [`POST ${sim}/set_group`, { groupId: "g-none" }, "404 GRP0001"],
    [`POST ${sim}/set_group`, {}, "400 SIM0021"],
    [`POST ${sim}/set_group`, nothing, "400 SBX0001"],
    [`PUT ${sim}/tags`, { tagName: "a", tagValue: "b" }, "400 SIM0010"],
    [`PUT ${sim}/tags`, [{ tagName: "", tagValue: "b" }], "400 SIM0010"],
    [`PUT ${sim}/tags`, [{ tagName: "a", tagValue: 1 }], "400 SIM0010"],
    [`DELETE ${sim}/tags/floor`, nothing, "404 SIM0011"],
    [`DELETE ${sim}/tags/toString`, nothing, "404 SIM0011"],
    [`POST ${sim}/set_expiry_time`, { expiryTime: "tomorrow", expiryAction: "suspend" }, "400 SIM0012"],
    [`POST ${sim}/set_expiry_time`, { expiryTime: 1_900_000_000_000, expiryAction: "explode" }, "400 SIM0012"],
    [`POST ${sim}/set_imei_lock`, { imei: "35" }, "400 SIM0014"],
    [`POST ${sim}/send_sms`, { payload: "x".repeat(161), encodingType: 1 }, "400 SIM0017"],
    [`POST ${sim}/send_sms`, { payload: "あ".repeat(71), encodingType: 2 }, "400 SIM0017"],
    [`POST ${sim}/send_sms`, { payload: "on", encodingType: 3 }, "400 SIM0017"],
    [`POST ${sim}/send_sms`, { payload: "on", encodingType: "1" }, "400 SIM0017"],
    [`POST ${sim}/send_sms`, { payload: "", encodingType: 1 }, "400 SIM0017"],
    [`POST ${sim}/downlink/ping`, { numberOfPingRequests: 0 }, "400 SIM0018"],
    ["PUT /v1/subscribers/{imsi}/bundles", '"bundle-a"', "400 SIM0019"],
    ["PUT /v1/subscribers/{imsi}/bundles", ["a", "a"], "400 SIM0019"],
    ["PUT /v1/subscribers/{imsi}/bundles", [""], "400 SIM0019"],
    ["PUT /v1/subscribers/{imsi}/bundles", [1], "400 SIM0019"],
    // Credential Sets and groups.
    ["PUT /v1/credentials/none", psk, "404 CRE0004"],
    ["DELETE /v1/credentials/none", psk, "404 CRE0004"],
    ["POST /v1/credentials/a%2Fb", psk, "400 CRE0001"],
    ["POST /v1/credentials/x", { type: "psk", credentials: {} }, "400 CRE0001"],
    ["POST /v1/credentials/x", { credentials: { key: "k" } }, "400 CRE0001"],
    ["GET /v1/groups/none", nothing, "404 GRP0001"],
    ["PUT /v1/groups/none/configuration/SoracomFunk", [], "404 GRP0001"],
    [`PUT ${configuration}/SoracomFunnel`, { key: "a", value: 1 }, "400 GRP0002"],
    [`PUT ${configuration}/SoracomFunnel`, [{ key: "a" }], "400 GRP0002"],
    [`PUT ${configuration}/SoracomFunnel`, [{ key: "", value: 1 }], "400 GRP0002"],
    [`PUT ${configuration}/SoracomFunnel`, ["a"], "400 GRP0002"],
    [`PUT ${configuration}/Soracom%20Funnel`, [], "400 GRP0002"],
    [`PUT ${configuration}/SoracomFunnel`, "[", "400 SBX0001"],
    ["DELETE /v1/sims", nothing, "405 SBX0405"],
  ])("%s with %j gets %s and changes nothing", async (line, body, refusal) => {
    const { call, record, effects, sandbox } = await openPreparedSim();
    const before = record();
    const [method = "", path = ""] = line.replace("{imsi}", sandbox.state.sims.imsiAt(0)).split(" ");
    expect(refusalOf(await call(method, path, body === undefined ? {} : { body }))).toBe(refusal);
    expect(record()).toEqual(before);
    expect(effects()).toEqual({});
    expect(sandbox.state.credentials.count).toBe(0);
  });

  const unserved = [
    "GET /",
    "GET /v1",
    "GET /v1/sims/",
    "GET /v1/sims/1/2/3",
    "GET /v2/sims",
    "GET /v1/sims/1",
    "GET /v1/auth/x",
    "GET /_sandbox",
    "GET /v1/credentials",
    "GET /v1/groups",
    "PUT /v1/groups/a/configuration/b",
    `GET ${operator}/auth_keys`,
    `POST ${operator}/users/robot/auth_keys`,
    `POST ${operator}/token`,
  ];

  test.each(unserved)("%s gets 404 and spends nothing with core operations only", async (line) => {
    const { call } = await openSandbox();
    const [method = "", path = ""] = line.split(" ");
    const answer = await call(method, path);
    expect([refusalOf(answer), quotaOf(answer)]).toEqual(["404 SBX0404", [null, null, null]]);
  });

  test("a body without a JSON content type gets 415, and one that is too large 413", async () => {
    const { send } = await openSandbox();
    const signIn = (body: object, type: string) =>
      send("POST", "/v1/auth", { body, headers: { "content-type": type } });
    expect(refusalOf(await signIn(goodAuthKey, "text/plain"))).toBe("415 SBX0415");
    expect((await signIn(goodAuthKey, "application/json; charset=utf-8")).status).toBe(200);
    expect(refusalOf(await signIn({ ...goodAuthKey, note: "x".repeat(65_536) }, "application/json"))).toBe(
      "413 SBX0413",
    );
  });
});

test("error messages use the language of the request, or else English", async () => {
  const { send } = await openSandbox({ limits: { Auth: 0 } });
  const messageIn = async (headers: Record<string, string>) =>
    (await send("GET", "/v1/nowhere", { headers })).json.message;
  expect(await messageIn({ "X-Svc-Lang": "ja" })).toBe("指定された対象は存在しません。");
  expect(await messageIn({ "X-Svc-Lang": "en" })).toBe("There is no operation at this path.");
  expect(await messageIn({})).toBe("There is no operation at this path.");
  expect((await send("POST", "/v1/auth", { headers: { "X-Svc-Lang": "ja" } })).json.message).toContain("上限");
});
