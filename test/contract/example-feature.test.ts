/**
 * A feature is a folder and one line: test/features/tickets has a record with three states, routes, commands, work of
 * its own, a section of the configuration and an event, and is added to the list of features here and in
 * routes.test.ts.
 */
import { describe, expect, test } from "vitest";
import { sectionOf, sectionsOf } from "#config/feature-section.ts";
import { loadConfig } from "#config/load.ts";
import { group, setting } from "#config/setting.ts";
import { integer } from "#config/value-types.ts";
import { tickets } from "../features/tickets/feature.ts";
import { ControlHarness } from "./support/control-harness.ts";
import { until } from "../support/until.ts";
import type { Ended } from "../support/process-io.ts";
import { runCommand } from "./support/run-command.ts";

const section =
  'tickets:\n  support: { about: "Questions of customers" }\n  billing: { about: "Invoices" }\n  trials: { about: "Trials", closesAnswered: true }\n';

const harness = await ControlHarness.ofFile({ more: [tickets], prepare: () => Promise.resolve(section) });

const run = (line: string, where: "local" | "remote"): Promise<Ended> =>
  runCommand(harness, line.split(" "), where, { more: [tickets] });

async function post(path: string, as: string, body?: object): Promise<{ status: number; body: unknown }> {
  const headers: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
  const init = { method: "POST", headers, body: body === undefined ? null : JSON.stringify(body), as };
  const answer = await harness.ask(path, init);
  return { status: answer.status, body: await answer.json() };
}

describe("the example feature", () => {
  test("the example feature updates its record over HTTP and emits its event", async () => {
    expect(await post("/v1/tickets/support", "operator", { subject: "late" })).toMatchObject({
      status: 201,
      body: { queue: "support", state: "open", subject: "late", openedBy: "token:operator" },
    });
    expect(await post("/v1/tickets/support/close", "admin")).toMatchObject({ status: 400, body: { code: "USAGE" } });
    expect(await post("/v1/tickets/support/answer", "operator")).toMatchObject({ body: { state: "answered" } });
    expect(await post("/v1/tickets/support/close", "admin")).toMatchObject({ body: { state: "closed" } });
    const events = await harness.ask("/v1/events?type=ticket.closed", { as: "viewer" });
    expect(await events.json()).toMatchObject({
      events: [{ type: "ticket.closed", profile: "default", fields: { queue: "support", subject: "late" } }],
    });
  });

  test.each(["local", "remote"] as const)("the example feature has commands that work %s", async (where) => {
    const opened = await run("tickets open billing twice --json", where);
    expect([opened.code, opened.stderr]).toEqual([0, ""]);
    expect(JSON.parse(opened.stdout)).toMatchObject({ queue: "billing", state: "open", subject: "twice" });
    expect((await run("tickets answer billing", where)).stdout).toContain("billing: twice (answered, opened by ");
    expect((await run("tickets close billing", where)).code).toBe(0);
    expect((await run("tickets close billing", where)).code).toBe(2);
    expect((await run("tickets list", where)).stdout).toMatch(/billing +closed +twice/);
    const { entries } = await harness.audit.list({ limit: 1, kinds: ["tickets"] });
    expect(entries[0]?.action).toBe(where === "local" ? "simfleet tickets close" : "POST /v1/tickets/:queue/close");
    expect((await run("storage", where)).stdout).toContain("tickets ");
  });

  test("a worker does the work of the example feature", async () => {
    await post("/v1/tickets/trials", "operator", { subject: "two weeks" });
    await post("/v1/tickets/trials/answer", "operator");
    await until("the ticket is closed", async () => {
      const { tickets: all } = (await (await harness.ask("/v1/tickets", { as: "viewer" })).json()) as {
        tickets: { queue: string; state: string }[];
      };
      return all.find(({ queue }) => queue === "trials")?.state === "closed";
    });
  });

  test("the example feature reports problems in its config section, which is unknown when the feature is disabled", async () => {
    const env = { ...harness.env, SIMFLEET_TICKETS: "x" };
    const sections = await sectionsOf([tickets]);
    expect(() => loadConfig({ env, sections })).toThrow(/SIMFLEET_TICKETS/);
    expect(() => loadConfig({ env: harness.env })).toThrow(/tickets/);
  });

  test("a config section can be a group of settings, which says nothing where it has its defaults", () => {
    const sizes = { key: "sizes", schema: group({ perSim: setting(integer(1, 9).default(3), "How many are kept.") }) };
    const [written, none] = [{ SIMFLEET_SIZES_PER_SIM: "4" }, {}].map((env) => loadConfig({ env, sections: [sizes] }));
    expect([written, none].map((config) => config && sectionOf(config, sizes))).toEqual([{ perSim: 4 }, { perSim: 3 }]);
    expect([written?.tasksHash, none?.tasksHash]).toEqual([expect.any(String), undefined]);
  });
});
