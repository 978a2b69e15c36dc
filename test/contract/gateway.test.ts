/** The gateway with real quotas: a sandbox as the platform, and the same limiter as the runs of the process. */
import { describe, expect, test } from "vitest";
import { openGateway } from "#kernel/serve-gateway.ts";
import { seeds } from "../support/long.ts";
import { until } from "../support/until.ts";
import { ControlHarness, type HarnessOptions } from "./support/control-harness.ts";

async function open(options: HarnessOptions): Promise<{ harness: ControlHarness; url: string }> {
  const env = { SIMFLEET_GATEWAY_PORT: "0", ...options.env };
  const harness = await ControlHarness.open({ ...options, env });
  return { harness, url: await openGateway(harness.app, { profile: "default" }) };
}

const list = (url: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${url}/v1/sims?limit=1`, { headers });

describe("the gateway beside the runs of the account", () => {
  test("a run beside four clients that loop meets no 429 and uses the quota", async () => {
    const rows = seeds(2_000, 6_000);
    const perWindow = 300;
    const sandbox = { sims: rows, periodSeconds: 2, limits: { Sim: perWindow } };
    const { harness, url } = await open({ works: true, sandbox });
    await using _ = harness;
    const headers = { "content-type": "text/csv" };
    const begun = await harness.ask("/v1/runs", { as: "operator", method: "POST", body: harness.csv(rows), headers });
    const { runId } = (await begun.json()) as { runId: string };
    const statuses: number[] = [];
    const over = new AbortController();
    const client = async (name: string): Promise<void> => {
      while (!over.signal.aborted) {
        const answered = await list(url, { "x-simfleet-caller": name });
        await answered.text();
        statuses.push(answered.status);
      }
    };
    const clients = ["a", "b", "c", "d"].map(client);
    await until("the run has ended", async () => (await harness.runs.show(runId)).state === "completed");
    over.abort();
    await Promise.all(clients);
    const { counts, throttled } = await harness.runs.show(runId);
    expect([counts.done, throttled]).toEqual([rows, 0]);
    expect(statuses.length).toBeGreaterThan(20);
    expect(new Set(statuses)).toEqual(new Set([200]));
    const windows = harness.sandbox.throttle.windows("Sim");
    expect(windows.map(({ throttled: count }) => count).filter((count) => count > 0)).toEqual([]);
    // The first and the last window are not used from their beginning to their end.
    const used = windows.slice(1, -1).map(({ accepted }) => accepted / perWindow);
    // One window of seven may be lost to other work on the machine: the usual one, and all of them, say what was used.
    expect(used.toSorted((a, b) => a - b)[Math.floor(used.length / 2)]).toBeGreaterThanOrEqual(0.95);
    expect(used.reduce((sum, share) => sum + share, 0) / used.length).toBeGreaterThanOrEqual(0.8);
  });
});

describe.concurrent("callers of the gateway", () => {
  test("a caller waits for the refresh and never sees a 429 that others cause", async () => {
    // The window opens at the first call: the rest of the test has all of it, however busy the machine is.
    const sandbox = { periodSeconds: 4, anchored: "first-call", limits: { Sim: 50 } } as const;
    const { harness, url } = await open({ sandbox });
    await using _ = harness;
    expect((await list(url)).status).toBe(200);
    const { throttle } = harness.sandbox;
    while (!throttle.isSpent("Sim", "")) throttle.accept("Sim", "");
    const answers = await Promise.all(Array.from({ length: 12 }, () => list(url)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 12 }, () => 200));
    expect(throttle.windows("Sim").some(({ throttled }) => throttled > 0)).toBe(true);
  });

  test("a call of high priority uses the reserve when others wait in vain", async () => {
    const env = { SIMFLEET_RESERVE: "0.5", SIMFLEET_GATEWAY_MAX_WAIT_SECONDS: "0.5" };
    const { harness, url } = await open({ env, sandbox: { periodSeconds: 60, limits: { Sim: 8 } } });
    await using _ = harness;
    // A busy machine may need longer than the wait for one call: it is made again.
    for (let calls = 0; calls < 4;) calls += Number((await list(url)).status === 200);
    const refused = await list(url);
    expect(refused.status).toBe(503);
    const seconds = Number(refused.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(61);
    const isPermitted = async (): Promise<boolean> =>
      (await list(url, { "x-simfleet-priority": "high" })).status === 200;
    await until("a call of high priority is permitted", isPermitted);
    expect((await list(url)).status).toBe(503);
  });
});
