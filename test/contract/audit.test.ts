/** The audit: no change without an entry, whatever becomes of the client, of Redis or of the worker. */
import { createConnection } from "node:net";
import { describe, expect, test } from "vitest";
import type { AuditEntry } from "#jobs/audit/contract.ts";
import { until } from "../support/until.ts";
import { ControlHarness, tokens } from "./support/control-harness.ts";
import { runCommand } from "./support/run-command.ts";

async function entriesOf(harness: ControlHarness): Promise<AuditEntry[]> {
  const answer = await harness.ask("/v1/audit?limit=1000", { as: "admin" });
  return ((await answer.json()) as { entries: AuditEntry[] }).entries;
}

/** Sends a request whole and closes the connection at once, before any answer. */
function sendAndLeave(harness: ControlHarness, lines: readonly string[], body = ""): Promise<void> {
  const { hostname, port } = new URL(harness.url);
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: hostname, port: Number(port) });
    socket.on("error", reject);
    socket.on("connect", () => {
      const head = [
        ...lines,
        `host: ${hostname}:${port}`,
        `authorization: Bearer ${tokens.admin}`,
        "content-type: application/json",
        `content-length: ${body.length}`,
      ];
      socket.write(`${head.join("\r\n")}\r\n\r\n${body}`, () => {
        socket.destroy();
        resolve();
      });
    });
  });
}

async function freezesOf(harness: ControlHarness): Promise<number> {
  const { events } = await harness.app.kernel.feed.newest({ types: ["freeze.started"] }, { limit: 1_000 });
  return events.length;
}

// Shows S16.
describe("the audit log", () => {
  test("the audit log has an entry for each of 200 changes whose client disconnects before the response", async () => {
    await using harness = await ControlHarness.open();
    for (let n = 0; n < 200; n += 1) {
      await sendAndLeave(harness, ["POST /v1/freeze HTTP/1.1"], JSON.stringify({ reason: `change ${n}` }));
    }
    // A request whose client left before it was read is not carried out; what was carried out has an entry.
    let changes = -1;
    await until("no further change takes effect", async () => {
      const before = changes;
      await harness.ask("/v1/me", { as: "viewer" });
      changes = await freezesOf(harness);
      return changes === before && changes >= 100;
    });
    const entries = (await entriesOf(harness)).filter(({ action }) => action === "POST /v1/freeze");
    expect(entries.length).toBeGreaterThanOrEqual(changes);
    expect(entries.every(({ who }) => who === "token:admin")).toBe(true);
  });

  test("a change is refused with 503 and not made when its audit entry cannot be written", async () => {
    await using harness = await ControlHarness.open();
    harness.audit.begin = () => Promise.reject(new Error("OOM command not allowed"));
    const refused = await harness.ask("/v1/freeze", { as: "admin", method: "POST" });
    expect([refused.status, await refused.json()]).toMatchObject([503, { code: "AUDIT_UNAVAILABLE" }]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await harness.freezes.ordered()).toBeUndefined();
    expect((await harness.ask("/v1/freeze", { as: "admin" })).status).toBe(200);
  });

  test("an audit entry says that no result was recorded when only the start of a change was written", async () => {
    await using harness = await ControlHarness.open();
    harness.audit.finish = () => Promise.reject(new Error("gone"));
    expect((await harness.ask("/v1/freeze", { as: "admin", method: "POST" })).status).toBe(200);
    const [entry] = await entriesOf(harness);
    expect(entry).toMatchObject({
      who: "token:admin",
      action: "POST /v1/freeze",
      result: "not recorded",
      status: null,
    });
    expect(harness.log.join("")).toContain("the result of a change could not be recorded");
  });

  test("an audit entry names its result and the created object even on a later page", async () => {
    await using harness = await ControlHarness.open();
    for (let n = 0; n < 5; n += 1) await harness.ask("/v1/freeze", { as: "admin", method: "POST" });
    const pages: AuditEntry[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const query: string = cursor === "" ? "" : `&cursor=${cursor}`;
      const answer = await harness.ask(`/v1/audit?limit=2${query}`, { as: "admin" });
      const page = (await answer.json()) as { entries: AuditEntry[]; nextCursor: string | null };
      pages.push(...page.entries);
      cursor = page.nextCursor;
    }
    expect(pages.map(({ result, status }) => [result, status])).toEqual(Array.from({ length: 5 }, () => ["done", 200]));
    expect(new Set(pages.map(({ requestId }) => requestId)).size).toBe(5);
  });

  test("the audit log is filtered by person, kind and time, and exported as CSV", async () => {
    await using harness = await ControlHarness.open();
    await harness.ask("/v1/freeze", { as: "admin", method: "POST" });
    await harness.ask("/v1/freeze", { as: "operator", method: "POST" });
    await until("both are recorded", async () => (await entriesOf(harness)).length === 2);
    const found = async (query: string): Promise<(string | null)[]> => {
      const answer = await harness.ask(`/v1/audit?${query}`, { as: "admin" });
      return ((await answer.json()) as { entries: AuditEntry[] }).entries.map(({ who }) => who);
    };
    const now = new Date(Date.now() + 60_000).toISOString();
    expect(await found("who=token:operator")).toEqual(["token:operator"]);
    await harness.ask("/v1/syncs", { as: "operator", method: "POST" });
    await until("the sync is recorded", async () => (await entriesOf(harness)).length === 3);
    expect(await found("kind=syncs")).toEqual(["token:operator"]);
    expect(await found("kind=syncs&kind=freezes&who=token:admin")).toEqual(["token:admin"]);
    expect(await found("kind=runs")).toEqual([]);
    const words = ["audit", "list", "--kind", "syncs", "--kind", "runs", "--since", "1h", "--json"];
    const { stdout } = await runCommand(harness, words, "remote");
    expect((JSON.parse(stdout) as { entries: AuditEntry[] }).entries.map(({ action }) => action)).toEqual([
      "POST /v1/syncs",
    ]);
    expect(await found(`since=${now}`)).toEqual([]);
    expect(await found(`until=${now}`)).toHaveLength(3);
    expect(await found("until=2020-01-01T00:00:00Z")).toEqual([]);
    const csv = await (await harness.ask("/v1/audit/export?who=token:admin", { as: "admin" })).text();
    const [header, line, ...rest] = csv.trim().split("\n");
    expect([header, rest]).toEqual(["at,who,role,action,target,result,status,exitCode,from,requestId", []]);
    expect(line).toContain(",token:admin,admin,POST /v1/freeze,");
  });
});

test("the report of a sync names who requested it", async () => {
  await using harness = await ControlHarness.open();
  const sync = await harness.ask("/v1/syncs", { as: "operator", method: "POST" });
  expect(await sync.json()).toMatchObject({ startedBy: "token:operator" });
});
