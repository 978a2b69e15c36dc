import { describe, expect, test } from "vitest";
import { openAll, quotaOf } from "./open-sandbox.ts";

const meters = {
  groupId: "91e5bb07-meters",
  configuration: {
    SoracomFunnel: { enabled: true, credentialsId: "funnel-key" },
    SoracomBeam: { "mqtt://beam.soracom.io:1883": { destination: "x", $credentialsId: "psk-#{imsi}" } },
    SoracomFunk: { credentialsId: "funk-key" },
  },
};

/** A sandbox with the meters, whose configuration is changed by `configure`. */
async function setup() {
  const opened = await openAll({ groups: [meters] });
  const configure = (namespace: string, body: object) =>
    opened.call("PUT", `/v1/groups/${meters.groupId}/configuration/${namespace}`, { body });
  return { ...opened, configure };
}

describe("groups", () => {
  test("the group list contains the groups of the SIMs and of the options", async () => {
    const { call } = await openAll({ groups: [meters, { groupId: "g-new" }] });
    const groups = (await call("GET", "/v1/groups")).json as { groupId: string }[];
    const sims = (await call("GET", "/v1/sims")).json as { groupId: string | null }[];
    const ofSims = new Set(sims.flatMap(({ groupId }) => groupId ?? []));
    expect(groups).toHaveLength(5);
    expect(new Set(groups.map(({ groupId }) => groupId))).toEqual(new Set([...ofSims, meters.groupId, "g-new"]));
  });

  test("a group of the options has its configuration, a name, and times", async () => {
    const { call } = await openAll({ groups: [meters, { groupId: "g-new" }] });
    expect((await call("GET", "/v1/groups")).json).toContainEqual({
      ...meters,
      operatorId: "OP0000000001",
      tags: { name: "meters" },
      createdTime: expect.any(Number),
      lastModifiedTime: expect.any(Number),
    });
    expect((await call("GET", `/v1/groups/g-new`)).json).toMatchObject({ configuration: {}, tags: { name: "g-new" } });
  });

  test("groups are listed in pages like SIMs", async () => {
    const { call } = await openAll();
    const first = await call("GET", "/v1/groups?limit=3");
    const key = first.headers.get("x-svc-next-key") ?? "";
    const second = await call("GET", `/v1/groups?limit=3&last_evaluated_key=${encodeURIComponent(key)}`);
    expect([first.json.length, second.json.length]).toEqual([3, 1]);
    expect(second.headers.has("link")).toBe(false);
    expect((await call("GET", `/v1/sims?last_evaluated_key=${encodeURIComponent(key)}`)).json.code).toBe("SIM0004");
    expect(quotaOf(second)).toEqual([60, 58, 60]);
  });

  test("a group's configuration is updated key by key", async () => {
    const { configure, clock } = await setup();
    clock.pass(5_000);
    const { status, json } = await configure("SoracomFunnel", [
      { key: "credentialsId", value: "other" },
      { key: "size", value: null },
    ]);
    expect(status).toBe(200);
    expect(json).toMatchObject({ lastModifiedTime: clock.wallMs() });
    expect(json.configuration).toEqual({
      ...meters.configuration,
      SoracomFunnel: { enabled: true, credentialsId: "other", size: null },
    });
  });

  test("a group's configuration takes any key, and a reset restores all groups", async () => {
    const { call, send, sandbox, configure } = await setup();
    await configure("SoracomAir", [{ key: "__proto__", value: { a: 1 } }]);
    const read = (await call("GET", `/v1/groups/${meters.groupId}`)).json.configuration;
    expect(Object.keys(read)).toEqual(["SoracomFunnel", "SoracomBeam", "SoracomFunk", "SoracomAir"]);
    expect(Object.keys(read.SoracomAir)).toEqual(["__proto__"]);
    await send("POST", "/_sandbox/reset");
    const { groups } = (await send("GET", "/_sandbox/state")).json;
    expect(groups).toBe(4);
    const reset = sandbox.state.groups.all.find(({ groupId }) => groupId === meters.groupId);
    expect(reset?.configuration).toEqual(meters.configuration);
  });
});
