import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { locate } from "#sandbox/exchange.ts";
import { namedSimOperations } from "#sandbox/sims/sim-operations.ts";
import { groupId, openPreparedSim, simId } from "./prepared-sim.ts";

interface Described {
  readonly method: string;
  readonly path: string;
  readonly group: string;
  readonly input?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly statuses: readonly number[];
  readonly answer: string;
  readonly sets?: Readonly<Record<string, unknown>>;
}

const file = parse(readFileSync("config/deployments/soracom.yaml", "utf8")) as {
  simOperations: Readonly<Record<string, Described>>;
};
const operations = Object.entries(file.simOperations);

const inputs: Readonly<Record<string, unknown>> = {
  groupId,
  tagName: "site",
  tagValue: "berlin",
  expiryTime: 1_950_000_000_000,
  expiryAction: "deactivate",
  imei: "350000000000002",
  payload: "on",
  bundles: ["bundle-10MB"],
};

/** A template with the inputs in it; a placeholder alone keeps the type of its input. */
function filled(template: unknown): unknown {
  if (Array.isArray(template)) return template.map(filled);
  if (typeof template === "object" && template !== null) {
    return Object.fromEntries(Object.entries(template).map(([name, value]) => [name, filled(value)]));
  }
  if (typeof template !== "string") return template;
  const alone = /^\{(\w+)\}$/.exec(template)?.[1];
  return alone === undefined ? template : inputs[alone];
}

test("the deployment soracom describes every write of the sandbox", () => {
  expect(operations.length).toBeGreaterThanOrEqual(20);
  const paths = operations.map(([, { method, path }]) => `${method} ${path.replaceAll(/\{\w+\}/g, "*").slice(1)}`);
  const writes = namedSimOperations.filter(({ method }) => method !== "GET");
  expect(new Set(paths)).toEqual(new Set(writes.map(({ method, path }) => `${method} ${path}`)));
});

describe.each(operations)("%s of the deployment soracom", (_, described) => {
  test("an operation of the deployment exists in the sandbox with the same group", () => {
    const played = locate("all", described.path)?.byMethod.get(described.method);
    expect(played?.group).toBe(described.group);
  });

  test("an operation of the deployment succeeds with a documented status and sets the fields it names", async () => {
    const { call, sandbox, record } = await openPreparedSim();
    const ids: typeof inputs = { ...inputs, simId, imsi: sandbox.state.sims.imsiAt(0) };
    const path = described.path.replaceAll(/\{(\w+)\}/g, (_mark, name: string) => String(ids[name]));
    const { body } = described;
    const { status, json } = await call(described.method, path, body === undefined ? {} : { body: filled(body) });
    expect(described.statuses).toContain(status);
    const answered = described.answer === "record" ? json : record();
    for (const [field, value] of Object.entries(described.sets ?? {})) {
      const [outer = "", inner] = field.replace("{tagName}", "site").split(".");
      const found = inner === undefined ? answered[outer] : answered[outer]?.[inner];
      expect(found ?? null, field).toEqual(filled(value));
    }
  });
});
