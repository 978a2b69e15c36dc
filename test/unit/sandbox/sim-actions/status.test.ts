import { describe, expect, test } from "vitest";
import { type SimStatus, simStatuses } from "#sandbox/sims/sim-records.ts";
import { groupId, openPreparedSim, type PreparedSim, simId } from "./prepared-sim.ts";

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
        const code = from === "terminated" ? "SIM0006" : "SIM0007";
        expect(json).toEqual({ code, message: expect.any(String) });
      }
    },
  );
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

const history = `/v1/sims/${simId}/statuses/history`;

interface Entry {
  readonly time: number;
  readonly status: string;
}

async function historyOf({ call }: Pick<PreparedSim, "call">): Promise<Entry[]> {
  return (await call("GET", history)).json as Entry[];
}

test("a SIM's history begins with ready", async () => {
  expect((await historyOf(await openPreparedSim())).at(-1)).toMatchObject({ status: "ready" });
});

test.each<[string, (sim: PreparedSim) => Promise<unknown>, object]>([
  ["status", ({ post }) => post("deactivate"), { status: "inactive" }],
  ["group", ({ post }) => post("set_group", { groupId }), { groupId }],
  ["class", ({ update }) => update(0, "s1.8xfast"), { speedClass: "s1.8xfast" }],
])("a SIM's history records a change of its %s with its time", async (_, change, changed) => {
  const sim = await openPreparedSim();
  const before = await historyOf(sim);
  sim.clock.pass(1_000);
  const time = sim.clock.wallMs();
  await change(sim);
  expect(await historyOf(sim)).toEqual([{ ...before[0], ...changed, time }, ...before]);
});
