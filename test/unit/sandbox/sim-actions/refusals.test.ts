import { expect, test } from "vitest";
import { openPreparedSim, simId } from "./prepared-sim.ts";

const sims = `/v1/sims/${simId}`;

test.each([
  [`POST ${sims}/set_group`, { groupId: "g-none" }, 404, "GRP0001"],
  [`POST ${sims}/set_group`, {}, 400, "SIM0021"],
  [`POST ${sims}/set_group`, undefined, 400, "SBX0001"],
  [`PUT ${sims}/tags`, { tagName: "a", tagValue: "b" }, 400, "SIM0010"],
  [`PUT ${sims}/tags`, [{ tagName: "", tagValue: "b" }], 400, "SIM0010"],
  [`PUT ${sims}/tags`, [{ tagName: "a", tagValue: 1 }], 400, "SIM0010"],
  [`DELETE ${sims}/tags/floor`, undefined, 404, "SIM0011"],
  [`DELETE ${sims}/tags/toString`, undefined, 404, "SIM0011"],
  [`POST ${sims}/set_expiry_time`, { expiryTime: "tomorrow", expiryAction: "suspend" }, 400, "SIM0012"],
  [`POST ${sims}/set_expiry_time`, { expiryTime: 1_900_000_000_000, expiryAction: "explode" }, 400, "SIM0012"],
  [`POST ${sims}/set_imei_lock`, { imei: "35" }, 400, "SIM0014"],
  [`POST ${sims}/send_sms`, { payload: "x".repeat(161), encodingType: 1 }, 400, "SIM0017"],
  [`POST ${sims}/send_sms`, { payload: "あ".repeat(71), encodingType: 2 }, 400, "SIM0017"],
  [`POST ${sims}/send_sms`, { payload: "on", encodingType: 3 }, 400, "SIM0017"],
  [`POST ${sims}/send_sms`, { payload: "on", encodingType: "1" }, 400, "SIM0017"],
  [`POST ${sims}/send_sms`, { payload: "", encodingType: 1 }, 400, "SIM0017"],
  [`POST ${sims}/downlink/ping`, { numberOfPingRequests: 0 }, 400, "SIM0018"],
  [`GET ${sims}/statuses/history?limit=101`, undefined, 400, "SIM0020"],
  [`GET ${sims}/statuses/history?limit=0`, undefined, 400, "SIM0020"],
  [`GET ${sims}/statuses/history?sort=up`, undefined, 400, "SIM0020"],
  [`GET ${sims}/statuses/history?from=today`, undefined, 400, "SIM0020"],
])("%s with %j returns %i %s", async (line, body, status, code) => {
  const [method = "", path = ""] = line.split(" ");
  const { call, record, effects } = await openPreparedSim();
  const before = record();
  const answer = await call(method, path, body === undefined ? {} : { body });
  expect([answer.status, answer.json.code]).toEqual([status, code]);
  expect(record()).toEqual(before);
  expect(effects()).toEqual({});
});

test.each([["bundle-a"], [["a", "a"]], [[""]], [[1]]])("bundles %j are refused", async (body) => {
  const { call, sandbox } = await openPreparedSim();
  const path = `/v1/subscribers/${sandbox.state.sims.imsiAt(0)}/bundles`;
  const answer = await call("PUT", path, { body: JSON.stringify(body) });
  expect([answer.status, answer.json.code]).toEqual([400, "SIM0019"]);
});

test.each([
  [1, 160, "x"],
  [2, 70, "あ"],
])("an SMS with encoding %i may have %i characters", async (encodingType, length, character) => {
  const { post, effects } = await openPreparedSim();
  expect((await post("send_sms", { payload: character.repeat(length), encodingType })).status).toBe(202);
  expect(effects()).toEqual({ sendSimSms: 1 });
});

test("removing a missing item fails, except for operations where a repeat is harmless", async () => {
  const { post, call } = await openPreparedSim();
  expect((await call("DELETE", `${sims}/tags/site`)).status).toBe(204);
  expect((await call("DELETE", `${sims}/tags/site`)).json.code).toBe("SIM0011");
  expect((await post("unset_expiry_time")).status).toBe(200);
  expect((await post("unset_expiry_time")).json.code).toBe("SIM0013");
  for (const path of ["unset_group", "unset_imei_lock"]) {
    expect([(await post(path)).status, (await post(path)).status]).toEqual([200, 200]);
  }
});

test("a tag name in a path is percent-decoded", async () => {
  const { call, record } = await openPreparedSim();
  await call("PUT", `${sims}/tags`, { body: [{ tagName: "a/b %20é", tagValue: "1" }] });
  expect((await call("DELETE", `${sims}/tags/${encodeURIComponent("a/b %20é")}`)).status).toBe(204);
  expect(record()["tags"]).toEqual({ name: "pump", site: "osaka" });
});
