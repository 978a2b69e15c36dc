import { describe, expect, test } from "vitest";
import { type SimStatus, simStatuses } from "#sandbox/sims/sim-records.ts";
import { openPreparedSim, simId } from "./prepared-sim.ts";

/** From which statuses each call leads where; the status that it leads to is always allowed, unless terminated. */
const machine: Readonly<Record<string, { to: SimStatus; from: readonly SimStatus[] }>> = {
  activate: { to: "active", from: ["ready", "active", "inactive", "standby", "suspended"] },
  deactivate: { to: "inactive", from: ["ready", "active", "inactive"] },
  suspend: { to: "suspended", from: ["active", "inactive", "suspended"] },
  set_to_standby: { to: "standby", from: ["ready", "active", "inactive", "standby"] },
  terminate: { to: "terminated", from: ["ready", "active", "inactive", "standby", "suspended"] },
};

describe.each(simStatuses)("SIMs with the status %s", (from) => {
  test.each(Object.entries(machine))(
    "%s succeeds only from the statuses that allow it",
    async (path, { to, from: allowed }) => {
      const { post, record, sandbox } = await openPreparedSim();
      sandbox.fleet.edit(simId, { status: from });
      const { status, json } = await post(path);
      if (allowed.includes(from)) {
        expect([status, record()["status"]]).toEqual([200, to]);
      } else {
        expect([status, record()["status"]]).toEqual([400, from]);
        expect(json).toEqual({
          code: from === "terminated" ? "SIM0006" : "SIM0007",
          message: expect.any(String),
        });
      }
    },
  );
});

test("setting the current status leaves the history unchanged", async () => {
  const { post, call } = await openPreparedSim();
  const history = async () => (await call("GET", `/v1/sims/${simId}/statuses/history`)).text;
  const before = await history();
  expect((await post("activate")).status).toBe(200);
  expect(await history()).toBe(before);
});

test("a SIM with termination protection cannot be terminated", async () => {
  const { post, record } = await openPreparedSim();
  await post("disable_termination");
  expect((await post("terminate")).json.code).toBe("SIM0009");
  await post("enable_termination");
  expect((await post("terminate")).status).toBe(200);
  expect(record()["status"]).toBe("terminated");
});

test.each([
  ["plan-US", "set_to_standby", 400],
  ["plan-US", "suspend", 200],
  ["plan-KM1", "set_to_standby", 400],
  ["plan-KM1", "suspend", 400],
  ["plan01s", "set_to_standby", 200],
])("a SIM with the subscription %s answers %s with %i", async (subscription, path, status) => {
  const { post, sandbox } = await openPreparedSim();
  sandbox.fleet.edit(simId, { subscription });
  const answer = await post(path);
  expect(answer.status).toBe(status);
  if (status === 400) expect(answer.json.code).toBe("SIM0008");
});

test("a refusal is in Japanese when the request asks for it", async () => {
  const { call, sandbox } = await openPreparedSim();
  sandbox.fleet.edit(simId, { status: "terminated" });
  const { json } = await call("POST", `/v1/sims/${simId}/activate`, { headers: { "X-Svc-Lang": "ja" } });
  expect(json.message).toContain("正しくありません");
});
