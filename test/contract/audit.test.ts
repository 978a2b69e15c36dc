/** The audit: no change without an entry, whatever becomes of the client, of Redis or of the worker. */
import { createConnection } from "node:net";
import { Redis } from "ioredis";
import { describe, expect, test, vi } from "vitest";
import type { AuditEntry } from "#jobs/audit/contract.ts";
import { until } from "../support/until.ts";
import { answerOf, ControlHarness, tokens } from "./support/control-harness.ts";
import { runCommand } from "./support/run-command.ts";

async function entriesOf(harness: ControlHarness, query = "limit=1000"): Promise<AuditEntry[]> {
  const answer = await harness.ask(`/v1/audit?${query}`, { as: "admin" });
  return ((await answer.json()) as { entries: AuditEntry[] }).entries;
}

/** A worker with entries of three changes: freezes of an administrator and an operator, and a sync. */
async function setupThree(): Promise<ControlHarness> {
  const harness = await ControlHarness.open();
  await harness.ask("/v1/freeze", { as: "admin", method: "POST" });
  for (const path of ["/v1/freeze", "/v1/syncs"]) await harness.ask(path, { as: "operator", method: "POST" });
  await until("all are recorded", async () => (await entriesOf(harness)).length === 3);
  return harness;
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

/** The number of freezes once no further one takes effect: at least a hundred. */
async function settledFreezes(harness: ControlHarness): Promise<number> {
  let changes = -1;
  await until("no further change takes effect", async () => {
    const before = changes;
    await harness.ask("/v1/me", { as: "viewer" });
    const { events } = await harness.app.kernel.feed.newest({ types: ["freeze.started"] }, { limit: 1_000 });
    changes = events.length;
    return changes === before && changes >= 100;
  });
  return changes;
}

// Shows S16.
describe("the audit log", () => {
  test("the audit log has an entry for each of 200 changes whose client disconnects before the response", async () => {
    await using harness = await ControlHarness.open();
    for (let n = 0; n < 200; n += 1) {
      await sendAndLeave(harness, ["POST /v1/freeze HTTP/1.1"], JSON.stringify({ reason: `change ${n}` }));
    }
    // A request whose client left before it was read is not carried out; what was carried out has an entry.
    const changes = await settledFreezes(harness);
    const entries = (await entriesOf(harness)).filter(({ action }) => action === "POST /v1/freeze");
    expect(entries.length).toBeGreaterThanOrEqual(changes);
    expect(entries.every(({ who }) => who === "token:admin")).toBe(true);
  });

  test("a change is refused with 503 and not made when its audit entry cannot be written", async () => {
    await using harness = await ControlHarness.open();
    const full = vi.spyOn(Redis.prototype, "xadd").mockRejectedValue(new Error("OOM command not allowed"));
    const refused = await harness.ask("/v1/freeze", { as: "admin", method: "POST" });
    full.mockRestore();
    expect(await answerOf(refused)).toMatchObject([503, { code: "AUDIT_UNAVAILABLE" }]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await harness.freezes.ordered()).toBeUndefined();
    expect((await harness.ask("/v1/freeze", { as: "admin" })).status).toBe(200);
  });

  test("an audit entry says that no result was recorded when only the start of a change was written", async () => {
    await using harness = await ControlHarness.open();
    harness.audit.finish = () => Promise.reject(new Error("gone"));
    expect((await harness.ask("/v1/freeze", { as: "admin", method: "POST" })).status).toBe(200);
    const [entry] = await entriesOf(harness);
    const result = { result: "not recorded", status: null };
    expect(entry).toMatchObject({ who: "token:admin", action: "POST /v1/freeze", ...result });
    expect(harness.log.join("")).toContain("the result of a change could not be recorded");
  });

  test("the audit log is filtered by person, kind and time", async () => {
    await using harness = await setupThree();
    const found = async (query: string): Promise<(string | null)[]> =>
      (await entriesOf(harness, query)).map(({ who }) => who);
    const now = new Date(Date.now() + 60_000).toISOString();
    expect(await found("who=token:operator&kind=freezes")).toEqual(["token:operator"]);
    expect(await found("who=token:operator")).toEqual(["token:operator", "token:operator"]);
    expect(await found("kind=syncs")).toEqual(["token:operator"]);
    expect(await found("kind=syncs&kind=freezes&who=token:admin")).toEqual(["token:admin"]);
    expect(await found("kind=runs")).toEqual([]);
    expect(await found(`since=${now}`)).toEqual([]);
    expect(await found(`until=${now}`)).toHaveLength(3);
    expect(await found("until=2020-01-01T00:00:00Z")).toEqual([]);
  });

  test("the audit log is filtered by a command, and exported as CSV", async () => {
    await using harness = await setupThree();
    const words = ["audit", "list", "--kind", "syncs", "--kind", "runs", "--since", "1h", "--json"];
    const { stdout } = await runCommand(harness, words, "remote");
    const { entries } = JSON.parse(stdout) as { entries: AuditEntry[] };
    expect(entries.map(({ action }) => action)).toEqual(["POST /v1/syncs"]);
    const csv = await (await harness.ask("/v1/audit/export?who=token:admin", { as: "admin" })).text();
    const [header, line, ...rest] = csv.trim().split("\n");
    expect([header, rest]).toEqual(["at,who,role,action,target,made,about,result,status,exitCode,from,requestId", []]);
    expect(line).toContain(",token:admin,admin,POST /v1/freeze,");
  });

  /** A worker with entries of a run, and of cancellations of it by a viewer, an operator and a stranger. */
  async function setupRun() {
    const harness = await ControlHarness.open();
    const started = await harness.upload("/v1/runs?name=private-name", harness.csv(2));
    const { runId } = (await started.json()) as { runId: string };
    for (const as of ["viewer", "operator", "sf_wrong-secret"]) {
      await harness.ask(`/v1/runs/${runId}/cancel`, { as, method: "POST" });
    }
    await harness.ask("/v1/runs", { as: "viewer" });
    await until("all was written down", async () => (await entriesOf(harness)).length >= 4);
    return Object.assign(harness, { runId, requestId: started.headers.get("x-request-id") });
  }

  test("the audit log records who did what, including refusals", async () => {
    await using harness = await setupRun();
    const { runId, requestId } = harness;
    const entries = await entriesOf(harness);
    const cancel = "POST /v1/runs/:runId/cancel";
    expect(entries.toReversed().map(({ who, action, target, status }) => [who, action, target, status])).toEqual([
      ["token:operator", "POST /v1/runs", runId, 202],
      ["token:viewer", cancel, runId, 403],
      ["token:operator", cancel, runId, 200],
      [null, cancel, runId, 401],
    ]);
    expect(entries[0]?.from).toBe("127.0.0.1");
    expect(entries.at(-1)?.requestId).toBe(requestId);
  });

  test("the audit log has no secrets, bodies, or queries", async () => {
    await using harness = await setupRun();
    const text = JSON.stringify(await entriesOf(harness));
    expect(text).not.toMatch(/sf_|private-name/);
    expect(text).not.toContain(harness.simId(0));
  });

  test("the audit log cannot be flooded by clients without a token", async () => {
    await using harness = await ControlHarness.open();
    for (let n = 0; n < 130; n += 1) await harness.ask("/v1/syncs", { method: "POST" });
    await harness.ask("/v1/syncs", { as: "viewer", method: "POST" });
    await until("the last was written down", async () => (await entriesOf(harness))[0]?.who === "token:viewer");
    // Sixty a minute, in one minute or two.
    const entries = await entriesOf(harness);
    expect(entries.length).toBeLessThanOrEqual(121);
    expect(entries.length).toBeGreaterThanOrEqual(61);
  });
});

test("the report of a sync names who requested it", async () => {
  await using harness = await ControlHarness.open();
  const sync = await harness.ask("/v1/syncs", { as: "operator", method: "POST" });
  expect(await sync.json()).toMatchObject({ startedBy: "token:operator" });
});
