import { describe, expect, test } from "vitest";
import { namedSimOperations } from "#sandbox/sims/sim-operations.ts";
import { publicRecord } from "../public-record.ts";
import { examples, openPreparedSim, simId } from "./prepared-sim.ts";

const all = namedSimOperations.map((operation) => [operation.name, operation] as const);
const writes = all.filter(([, { method }]) => method !== "GET");

test("every SIM operation of the sandbox has an example", () => {
  expect(Object.keys(examples).toSorted()).toEqual(all.map(([name]) => name).toSorted());
});

describe.each(all)("%s", (name, operation) => {
  test("a SIM operation succeeds with its documented status and sets its fields", async () => {
    const { act, record, clock, sandbox } = await openPreparedSim();
    clock.pass(2_500);
    const { status, json } = await act(operation);
    const { sets = {}, status: expected = 200 } = examples[name] ?? {};
    expect(status).toBe(expected);
    const after = record();
    for (const [field, value] of Object.entries(sets)) expect(after[field], field).toEqual(value);
    const answersRecord = status === 200 && Object.keys(sets).length > 0;
    if (answersRecord) expect(json).toEqual(after);
    expect(sandbox.state.totals.byOperation).toMatchObject({ [name]: 1 });
  });

  test("a SIM operation returns 404 and has no effect for an unknown or removed SIM", async () => {
    const { act, sandbox, effects } = await openPreparedSim();
    expect(await act(operation, "89423100000")).toMatchObject({ status: 404, json: { code: "SIM0001" } });
    sandbox.fleet.remove([simId]);
    expect(await act(operation)).toMatchObject({ status: 404, json: { code: "SIM0001" } });
    expect(effects()).toEqual({});
  });
});

describe.each(writes)("%s", (name, operation) => {
  test("a write operation is counted per SIM and in total, and leaves a record as the public definition has it", async () => {
    const { act, call, clock, effects, sandbox, send } = await openPreparedSim();
    await act(operation);
    expect(effects()).toEqual({ [name]: 1 });
    expect(sandbox.state.sims.effectTotals).toEqual({ [name]: 1 });
    expect((await send("GET", `/_sandbox/sims/${simId}`)).json.effects).toEqual({ [name]: 1 });
    clock.pass(60_000);
    const { json } = await call("GET", `/v1/sims/${simId}`);
    expect(publicRecord.safeParse(json).error?.issues ?? []).toEqual([]);
    expect((await call("GET", "/v1/sims")).json).toEqual([json]);
  });

  test("a write operation is refused for a terminated SIM", async () => {
    const { act, effects, sandbox } = await openPreparedSim();
    sandbox.fleet.edit(simId, { status: "terminated" });
    expect(await act(operation)).toMatchObject({ status: 400, json: { code: "SIM0006" } });
    expect(effects()).toEqual({});
  });
});

test("a speed class change counts as an effect and is refused for a terminated SIM", async () => {
  const { update, effects, sandbox } = await openPreparedSim();
  await update(0);
  await update(0);
  expect(effects()).toEqual({ updateSimSpeedClass: 2 });
  expect(sandbox.state.sims.effectTotals).toEqual({ updateSimSpeedClass: 2 });
  sandbox.fleet.edit(simId, { status: "terminated" });
  expect((await update(0)).json.code).toBe("SIM0006");
});
