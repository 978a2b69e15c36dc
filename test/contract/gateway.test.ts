/** The gateway with real quotas: a sandbox as the platform, and the same limiter as the runs of the process. */
import { describe, expect, test } from "vitest";
import { authOperation } from "#api/operations/auth.ts";
import { systemClock } from "#core/time.ts";
import { openGateway } from "#kernel/serve-gateway.ts";
import { seeds } from "../support/long.ts";
import { until } from "../support/until.ts";
import { ControlHarness, type HarnessOptions } from "./support/control-harness.ts";

/** A worker with its gateway. */
async function setup(options: HarnessOptions) {
  const env = { SIMFLEET_GATEWAY_PORT: "0", ...options.env };
  const harness = await ControlHarness.open({ ...options, env });
  return Object.assign(harness, { gateway: await openGateway(harness.app, { profile: "default" }) });
}

/** A client that calls again after any 5xx, whatever the headers say. */
function patientClient(url: string) {
  const statuses: number[] = [];
  const ask = async (path: string, init: RequestInit): Promise<Response> => {
    for (let tries = 0; ; tries += 1) {
      const answered = await fetch(`${url}${path}`, init);
      statuses.push(answered.status);
      if (answered.status < 500 || tries === 20) return answered;
      await systemClock.sleep(300);
    }
  };
  const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    ask(path, { method: "POST", body: JSON.stringify(body), headers });
  /** Reads all pages. */
  const sims = async (headers: Record<string, string>): Promise<{ simId: string }[]> => {
    const found: { simId: string }[] = [];
    let key: string | null = "";
    while (key !== null) {
      const query: string = key === "" ? "" : `&last_evaluated_key=${encodeURIComponent(key)}`;
      const page = await ask(`/v1/sims?limit=2${query}`, { headers });
      found.push(...((await page.json()) as { simId: string }[]));
      key = page.headers.get("x-svc-next-key");
    }
    return found;
  };
  return { statuses, post, sims };
}

const list = (url: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${url}/v1/sims?limit=1`, { headers });

/** Makes sixty calls, one every tenth of a second or so. @returns the status of each, and how long it took */
async function callOften(url: string): Promise<{ status: number; ms: number }[]> {
  const calls: Promise<{ status: number; ms: number }>[] = [];
  const live = async () => {
    const beganMs = systemClock.monotonicMs();
    const { status } = await list(url);
    return { status, ms: systemClock.monotonicMs() - beganMs };
  };
  for (let n = 0; n < 60; n += 1) {
    calls.push(live());
    await systemClock.sleep(150);
  }
  return Promise.all(calls);
}

/** No call got a 429, and those that were accepted used the quota of each window. */
function expectUsed({ sandbox }: ControlHarness, perWindow: number): void {
  const windows = sandbox.throttle.windows("Sim");
  expect(windows.filter(({ throttled }) => throttled > 0)).toEqual([]);
  // The first and the last window are not used from their start to their end.
  const used = windows.slice(1, -1).map(({ accepted }) => accepted / perWindow);
  // One window of ten may be lost to other work on the machine: the usual one, and all of them, say what was used.
  expect(used.toSorted((a, b) => a - b)[Math.floor(used.length / 2)]).toBeGreaterThanOrEqual(0.95);
  expect(used.reduce((sum, share) => sum + share, 0) / used.length).toBeGreaterThanOrEqual(0.8);
}

/** Four clients that call again as soon as they are answered. */
function loopingClients(url: string) {
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
  const stop = async (): Promise<number[]> => {
    over.abort();
    await Promise.all(clients);
    return statuses;
  };
  return { stop };
}

test("a run next to four clients of the gateway that loop meets no 429 and uses the quota", async () => {
  const rows = seeds(500, 3_000);
  const perWindow = 150;
  const sandbox = { sims: rows, periodSeconds: 1, limits: { Sim: perWindow } };
  await using harness = await setup({ works: true, sandbox });
  const runId = await harness.startRun(harness.csv(rows));
  const clients = loopingClients(harness.gateway);
  const { counts, throttled } = await harness.ended(runId);
  const statuses = await clients.stop();
  expect([counts.done, throttled]).toEqual([rows, 0]);
  expect(statuses.length).toBeGreaterThan(20);
  expect(new Set(statuses)).toEqual(new Set([200]));
  expectUsed(harness, perWindow);
});

describe.concurrent("callers of the gateway", () => {
  test("live calls use what is kept for others when a tool of low priority waits in vain", async () => {
    const env = { SIMFLEET_RESERVE: "0.5", SIMFLEET_GATEWAY_MAX_WAIT_SECONDS: "0.5" };
    await using harness = await setup({ env, sandbox: { periodSeconds: 60, limits: { Sim: 8 } } });
    const bulk = (): Promise<Response> => list(harness.gateway, { "x-simfleet-priority": "low" });
    // A busy machine may need longer than the wait for one call: it is made again.
    for (let calls = 0; calls < 4;) calls += Number((await bulk()).status === 200);
    const refused = await bulk();
    expect(refused.status).toBe(503);
    const seconds = Number(refused.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(61);
    await until("a live call is permitted", async () => (await list(harness.gateway)).status === 200);
    expect((await bulk()).status).toBe(503);
  });

  test("a live call every tenth of a second meets no 503 and waits little beside a run that never ends", async () => {
    const sandbox = { sims: 3_000, periodSeconds: 3, limits: { Sim: 150 } };
    await using harness = await setup({ works: true, sandbox });
    await harness.startRun(harness.csv(3_000));
    const calls = await callOften(harness.gateway);
    expect(new Set(calls.map(({ status }) => status))).toEqual(new Set([200]));
    // The machine of the tests is slow at times: the ninth of ten.
    expect(calls.map(({ ms }) => ms).toSorted((a, b) => a - b)[54]).toBeLessThanOrEqual(1_000);
    expect(harness.sandbox.throttle.windows("Sim").every(({ throttled }) => throttled === 0)).toBe(true);
  });

  /** The platform's own client, which has authenticated at a gateway with a small quota. */
  async function setupClient() {
    const env = { SIMFLEET_GATEWAY_MAX_WAIT_SECONDS: "0.2" };
    const harness = await setup({ env, sandbox: { sims: 5, periodSeconds: 2, limits: { Sim: 3 } } });
    const client = patientClient(harness.gateway);
    const auths = (): number => harness.sandbox.state.totals.byOperation[authOperation.id] ?? 0;
    const authsBefore = auths();
    const answered = await client.post("/v1/auth", { authKeyId: "keyId-any", authKey: "secret-any" });
    const pair = (await answered.json()) as Record<string, string>;
    const headers = { "x-svc-api-key": pair["apiKey"] ?? "", "x-svc-token": pair["token"] ?? "" };
    return Object.assign(harness, { client, headers, countAuths: () => auths() - authsBefore });
  }

  test("the platform's own client authenticates and reads pages", async () => {
    await using harness = await setupClient();
    const { client, headers, countAuths } = harness;
    expect(await client.sims(headers)).toHaveLength(5);
    // The gateway's own authentication, if there was none yet.
    expect(countAuths()).toBeLessThanOrEqual(1);
  });

  test("the platform's own client changes a SIM, and waits after a 503", async () => {
    await using harness = await setupClient();
    const { client, headers, sandbox } = harness;
    const path = `/v1/sims/${harness.simId(0)}/update_speed_class`;
    await until("the change had to wait", async () => {
      while (!sandbox.throttle.isSpent("Sim", "")) sandbox.throttle.accept("Sim", "");
      const json = { ...headers, "content-type": "application/json" };
      expect((await client.post(path, { speedClass: "s1.slow" }, json)).status).toBe(200);
      return client.statuses.includes(503);
    });
    expect(sandbox.state.speedClassOf(harness.simId(0))).toBe("s1.slow");
    expect(new Set(client.statuses)).toEqual(new Set([200, 503]));
  });
});
