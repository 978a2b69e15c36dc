import { expect, test } from "vitest";
import { groupId, openPreparedSim, type PreparedSim, simId } from "./prepared-sim.ts";

const path = `/v1/sims/${simId}/statuses/history`;

interface Entry {
  readonly time: number;
  readonly status: string;
}

async function historyOf({ call }: PreparedSim, query = ""): Promise<Entry[]> {
  return (await call("GET", `${path}?${query}`)).json as Entry[];
}

test("a SIM's history begins with ready and records each change of status, class, and group with its time", async () => {
  const prepared = await openPreparedSim();
  const { post, update, clock } = prepared;
  const before = (await historyOf(prepared)).length;
  const startedMs = clock.wallMs();
  clock.pass(1_000);
  await post("deactivate");
  clock.pass(1_000);
  await post("set_group", { groupId });
  clock.pass(1_000);
  await update(0, "s1.8xfast");
  const entries = await historyOf(prepared, "sort=asc");
  expect(entries[0]).toMatchObject({ status: "ready" });
  expect(entries.slice(before)).toEqual([
    { time: startedMs + 1_000, status: "inactive", speedClass: expect.any(String) },
    { time: startedMs + 2_000, status: "inactive", speedClass: expect.any(String), groupId },
    { time: startedMs + 3_000, status: "inactive", speedClass: "s1.8xfast", groupId },
  ]);
  expect(await historyOf(prepared)).toEqual(entries.toReversed());
});

test("a SIM's history includes changes made outside the API", async () => {
  const prepared = await openPreparedSim();
  const { sandbox, clock, post } = prepared;
  clock.pass(1_000);
  sandbox.fleet.edit(simId, { status: "suspended" });
  clock.pass(1_000);
  await post("activate");
  const [last, previous] = await historyOf(prepared);
  expect([last, previous]).toMatchObject([
    { status: "active", time: clock.wallMs() },
    { status: "suspended", time: clock.wallMs() - 1_000 },
  ]);
});

test("a SIM's history can be filtered by period, sorted, and paged", async () => {
  const prepared = await openPreparedSim();
  const { call, clock, post } = prepared;
  const startedMs = clock.wallMs();
  for (const action of ["deactivate", "activate", "suspend", "activate"]) {
    clock.pass(1_000);
    await post(action);
  }
  const statuses = (entries: Entry[]) => entries.map(({ status }) => status);
  const period = `from=${startedMs + 2_000}&to=${startedMs + 3_000}`;
  expect(statuses(await historyOf(prepared, period))).toEqual(["suspended", "active"]);
  expect(statuses(await historyOf(prepared, `${period}&sort=asc`))).toEqual(["active", "suspended"]);
  const first = await call("GET", `${path}?limit=3`);
  const key = first.headers.get("x-svc-next-key") ?? "";
  expect(statuses(first.json)).toEqual(["active", "suspended", "active"]);
  const rest = await historyOf(prepared, `limit=3&last_evaluated_key=${encodeURIComponent(key)}`);
  expect(statuses(rest)[0]).toBe("inactive");
  expect((await call("GET", `/v1/sims?last_evaluated_key=${encodeURIComponent(key)}`)).json.code).toBe("SIM0004");
});

test("a reset clears the history of a SIM", async () => {
  const prepared = await openPreparedSim();
  const { sandbox, post } = prepared;
  await post("deactivate");
  await post("delete_session");
  sandbox.state.reset();
  const first = sandbox.state.log.statusesAt(0);
  expect(first.at(-1)?.status).toBe(sandbox.state.recordOf(simId)?.["status"]);
  expect(sandbox.state.effectsOn(simId)).toEqual({});
});
