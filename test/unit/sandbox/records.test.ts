import { expect, test } from "vitest";
import { openSandbox } from "./open-sandbox.ts";
import { publicRecord } from "./public-record.ts";

test("all 400 soracom records match the public definition, including edited and changed ones", async () => {
  const { call, sandbox } = await openSandbox({ records: "soracom", sims: 400 });
  const simId = (place: number): string => sandbox.state.sims.simIdAt(place);
  sandbox.fleet.edit(simId(1), { groupId: null, tags: {}, expiryAction: null, imeiLock: null });
  sandbox.fleet.edit(simId(2), { expiryTime: 1_800_000_000_000, expiryAction: "deactivate", status: "terminated" });
  sandbox.fleet.edit(simId(3), { imeiLock: { imei: "350000000000001" }, groupId: "g-1" });
  const records = (await call("GET", "/v1/sims?limit=400")).json as unknown[];
  expect(records).toHaveLength(400);
  const faults = records.flatMap((record) => publicRecord.safeParse(record).error?.issues ?? []);
  expect(faults).toEqual([]);
  const types = records.map((record) => publicRecord.parse(record).type);
  expect(new Set(types)).toEqual(new Set(["euicc", "uicc", "virtual"]));
  expect(records.some((record) => publicRecord.parse(record).groupId === undefined)).toBe(true);
});

test("soracom records cover every public field, and most SIMs of the fleet are active and none are terminated", async () => {
  const { call, sandbox, clock } = await openSandbox({ records: "soracom", sims: 400, operations: "all" });
  const simId = sandbox.state.sims.simIdAt(0);
  await call("POST", `/v1/sims/${simId}/report_local_info`);
  clock.pass(60_000);
  const records = ((await call("GET", "/v1/sims?limit=400")).json as unknown[]).map((it) => publicRecord.parse(it));
  const fields = new Set(records.flatMap((record) => Object.keys(record)));
  expect(fields).toEqual(new Set(Object.keys(publicRecord.shape)));
  const shareOf = (wanted: string) => records.filter((record) => record.status === wanted).length / 400;
  expect(shareOf("active")).toBeGreaterThan(0.5);
  for (const some of ["ready", "inactive", "standby", "suspended"]) expect(shareOf(some), some).toBeGreaterThan(0);
  expect(shareOf("terminated")).toBe(0);
});
