import { describe, expect, test } from "vitest";
import { imei, openPreparedSim, type PreparedSim, simId } from "./prepared-sim.ts";

const sims = `/v1/sims/${simId}`;
const goOffline = ({ sandbox }: PreparedSim) => sandbox.fleet.edit(simId, { sessionStatus: { online: false } });

describe("device sessions", () => {
  test("a deleted session reconnects at once so that each call deletes one", async () => {
    const { post, record, effects } = await openPreparedSim();
    const { json } = await post("delete_session");
    expect(json).toMatchObject({ sessionStatus: { online: false }, previousSession: { imei } });
    expect(record()).toMatchObject({ sessionStatus: { online: true } });
    expect((await post("delete_session")).status).toBe(200);
    expect(effects()).toEqual({ deleteSimSession: 2 });
  });

  test("deleting a session that does not exist fails", async () => {
    const prepared = await openPreparedSim();
    goOffline(prepared);
    expect(await prepared.post("delete_session")).toMatchObject({ status: 400, json: { code: "SEM0016" } });
    expect(prepared.effects()).toEqual({});
  });

  test("a session ends when its SIM is no longer active", async () => {
    const { post, record, clock } = await openPreparedSim();
    clock.pass(1_000);
    await post("deactivate");
    expect(record()).toMatchObject({
      sessionStatus: { online: false },
      previousSession: { endedTime: clock.wallMs(), imei },
    });
  });
});

describe("IMEI locks without an IMEI", () => {
  test("an IMEI lock without an IMEI locks to the device of the current session", async () => {
    const { post, record } = await openPreparedSim();
    expect((await post("set_imei_lock")).status).toBe(200);
    expect(record()["imeiLock"]).toEqual({ imei });
  });

  test("an IMEI lock without an IMEI is refused while the SIM is offline", async () => {
    const prepared = await openPreparedSim();
    goOffline(prepared);
    expect((await prepared.post("set_imei_lock")).json.code).toBe("SIM0015");
    expect((await prepared.post("set_imei_lock", { imei })).status).toBe(200);
  });
});

describe("local information", () => {
  test("local information appears a few seconds after it was requested", async () => {
    const { post, call, clock } = await openPreparedSim();
    const read = async () => (await call("GET", sims)).json;
    expect((await post("report_local_info")).text).toBe("");
    clock.pass(4_999);
    expect(await read()).not.toHaveProperty("localInfo");
    clock.pass(1);
    expect(await read()).toMatchObject({ localInfo: { imei, mcc: "440" }, lastModifiedTime: clock.wallMs() });
  });
});

describe("pings", () => {
  test("a ping returns the round-trip time or reports that the device does not reply", async () => {
    const prepared = await openPreparedSim();
    expect((await prepared.post("downlink/ping")).json).toEqual({ success: true, rtt: expect.any(Number) });
    goOffline(prepared);
    expect((await prepared.post("downlink/ping")).json).toEqual({ success: false });
  });
});

describe("bundles", () => {
  test("bundles are replaced and stored beside the subscription", async () => {
    const { call, sandbox, record } = await openPreparedSim();
    const imsi = sandbox.state.sims.imsiAt(0);
    const { json } = await call("PUT", `/v1/subscribers/${imsi}/bundles`, { body: ["a", "b"] });
    expect(json).toMatchObject({ imsi, bundles: ["a", "b"] });
    await call("PUT", `/v1/subscribers/${imsi}/bundles`, { body: ["c"] });
    expect(record()["profiles"][simId].subscribers[imsi].bundles).toEqual(["c"]);
    expect(record()).not.toHaveProperty("bundles");
  });
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
