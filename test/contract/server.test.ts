/** What holds for every response: headers, names, problems, bounds; and a worker without credentials for its API. */
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { request as plainRequest } from "node:http";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { loadConfig } from "#config/load.ts";
import { createLogger } from "#telemetry/logger.ts";
import { openHttp } from "#kernel/http.ts";
import { answerOf, ControlHarness, tokens } from "./support/control-harness.ts";

const policy =
  "default-src 'none';script-src 'self';style-src 'self';img-src 'self' data:;connect-src 'self';font-src 'self';base-uri 'none';form-action 'self';frame-ancestors 'none'";

/** fetch sets the Host header itself. */
function statusFor(url: string, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { host, authorization: `Bearer ${tokens.viewer}` };
    plainRequest(url, { headers }, (answer) => resolve(answer.resume().statusCode ?? 0))
      .on("error", reject)
      .end();
  });
}

const harness = await ControlHarness.ofFile({
  http: "  hosts: [fleet.example.com]\n",
  prepare: () =>
    Promise.resolve(`webhooks:
  ops: { url: "http://127.0.0.1:9/", secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, events: ["run.*"] }
automations: { new-ones: { on: sim.added, job: apply, speedClass: s1.minimum } }
schedules: { nightly: { job: sync, cron: "0 3 * * *" } }
`),
});

describe("HTTP responses", () => {
  // Shows S17.
  test("every response has the strict content security policy except for a known style in the description of the API", async () => {
    const known = (sha256: string): string => policy.replace("style-src", `style-src 'sha256-${sha256}'`);
    const ofDocs = known("RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w=");
    for (const path of ["/", "/v1/me", "/v1/nothing", "/docs", "/docs/json", "/healthz", "/metrics"]) {
      const { headers } = await harness.ask(path, { as: "admin" });
      const expected = path.startsWith("/docs") ? ofDocs : policy;
      expect([path, headers.get("content-security-policy")]).toEqual([path, expected]);
      expect(headers.get("strict-transport-security")).toBeNull();
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("x-frame-options")).toBe("DENY");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  test("a request for another host name is refused except for the health check", async () => {
    const { port } = new URL(harness.url);
    expect(await statusFor(`${harness.url}/v1/me`, `localhost:${port}`)).toBe(200);
    expect(await statusFor(`${harness.url}/v1/me`, "fleet.example.com")).toBe(200);
    for (const path of ["/v1/me", "/", "/docs", "/assets/x.js"]) {
      expect([path, await statusFor(harness.url + path, `evil.example.com:${port}`)]).toEqual([path, 403]);
    }
    expect(await statusFor(`${harness.url}/healthz`, "10.0.0.7:8080")).toBe(200);
  });
});

describe("HTTP errors", () => {
  test("an error is a problem document with its code and the id of its log entry", async () => {
    const answer = await harness.ask("/v1/runs/r-none", { as: "viewer" });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([404, "application/problem+json"]);
    expect(await answer.json()).toEqual({
      type: "urn:simfleet:error:RUN_NOT_FOUND",
      title: "No run has this ID.",
      status: 404,
      detail: expect.stringContaining("r-none"),
      code: "RUN_NOT_FOUND",
      instance: `urn:simfleet:request:${answer.headers.get("x-request-id")}`,
    });
  });

  test("an unexpected error reveals no details, and the log has all of them", async () => {
    onTestFinished(() => void vi.restoreAllMocks());
    vi.spyOn(harness.runs, "list").mockRejectedValue(new Error("secret inner words"));
    const answer = await harness.ask("/v1/runs", { as: "viewer" });
    const text = await answer.text();
    expect([answer.status, text]).toEqual([500, expect.stringContaining('"code":"INTERNAL"')]);
    expect(text).not.toContain("inner words");
    expect(harness.log.join("")).toContain("secret inner words");
    expect(harness.log.join("")).toContain(answer.headers.get("x-request-id"));
  });

  test("an authentication that failed is logged in one message with its reason", async () => {
    await using own = await ControlHarness.open({ sandbox: { faultsOnAuth: true, faults: { "empty-500": 1 } } });
    await expect(own.app.kernel.client("default").whoAmI()).rejects.toMatchObject({ code: "PLATFORM_UNAVAILABLE" });
    const line = own.log.find((text) => text.includes("authentication failed")) ?? "";
    expect(line.match(/"message":/g)).toHaveLength(1);
    expect(JSON.parse(line)).toMatchObject({ level: "warn", message: expect.stringMatching(/failed: auth: .*500/) });
  });

  test.each([
    ["/v1/runs?limit=0", "query.limit"],
    ["/v1/runs?state=begun", "query.state"],
    ["/v1/events?since=yesterday", "query.since"],
  ])("an invalid query parameter is reported with its location: %s", async (path, where) => {
    const answer = await answerOf(harness.ask(path, { as: "viewer" }));
    expect(answer).toMatchObject([400, { code: "REQUEST_INVALID", problems: [{ where }] }]);
  });

  test("a JSON body has a size limit, and a profile must exist", async () => {
    const large = JSON.stringify({ where: "x".repeat(300_000) });
    const headers = { "content-type": "application/json" };
    expect((await harness.ask("/v1/plans", { as: "operator", method: "POST", body: large, headers })).status).toBe(413);
    const answer = await answerOf(harness.ask("/v1/sims?profile=plant", { as: "viewer" }));
    expect(answer).toMatchObject([404, { code: "NOT_FOUND", detail: expect.stringContaining("default") as unknown }]);
  });
});

test("a client over the request limit has to wait while others do not", async () => {
  await using own = await ControlHarness.open({ http: "  requestsPerMinute: 3\n" });
  const statuses: number[] = [];
  for (let n = 0; n < 4; n += 1) statuses.push((await own.ask("/v1/me", { as: "viewer" })).status);
  expect(statuses).toEqual([200, 200, 200, 429]);
  const refused = await own.ask("/v1/profiles", { as: "viewer" });
  expect(await answerOf(refused)).toMatchObject([429, { code: "TOO_MANY_REQUESTS" }]);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  expect((await own.ask("/v1/me", { as: "operator" })).status).toBe(200);
  expect((await own.ask("/healthz")).status).toBe(200);
});

/** Opens the control API of a worker with these settings of its own. */
function opened(env: Readonly<Record<string, string>>, log: string[] = []): ReturnType<typeof openHttp> {
  const { app } = harness;
  const config = loadConfig({ env: { HOME: harness.folder, SIMFLEET_HTTP_PORT: "0", ...env } });
  const logger = createLogger({ level: "info", destination: { write: (line) => log.push(line) } });
  const health = { isMoving: () => Promise.resolve(true), isReady: () => Promise.resolve(true) };
  return openHttp({
    app: {
      kernel: { ...app.kernel, config, logger },
      routes: (options) => app.routes(options),
      service: (feature) => app.service(feature),
      readings: () => app.readings(),
    },
    health,
  });
}

// Shows S10.
describe("workers without credentials for the control API", () => {
  /** Two workers that share a data directory: the file of their token, its content, and what they have logged. */
  async function setupTwo(name: string) {
    const log: string[] = [];
    const dataDir = join(harness.folder, name);
    const servers = await Promise.all([1, 2].map(() => opened({ SIMFLEET_DATA_DIR: dataDir }, log)));
    onTestFinished(async () => {
      for (const server of servers) await server.close();
    });
    const file = join(dataDir, "admin-token");
    return { servers, file, token: (await readFile(file, "utf8")).trim(), log: log.join("") };
  }

  test("a worker on loopback creates an admin token, which its user alone can read", async () => {
    const { file, token, log } = await setupTwo("created");
    expect(token).toMatch(/^sf_[\w-]{43}$/);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(log).toContain(file);
    expect(log).not.toContain(token);
  });

  test("local workers accept the admin token that one of them has created", async () => {
    const { servers, token } = await setupTwo("shared");
    for (const { url } of servers) {
      const me = await fetch(`${url}/v1/me`, { headers: { authorization: `Bearer ${token}` } });
      expect(await me.json()).toMatchObject({ role: "admin", kind: "admin-token" });
      expect((await fetch(`${url}/v1/me`)).status).toBe(401);
    }
  });

  test("a worker does not start with a short token in its data directory", async () => {
    const dataDir = join(harness.folder, "short");
    await mkdir(dataDir, { mode: 0o700 });
    await writeFile(join(dataDir, "admin-token"), "x\n", { mode: 0o600 });
    await expect(opened({ SIMFLEET_DATA_DIR: dataDir })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("fewer than 32 characters"),
    });
  });

  test("a worker reachable by others does not start without a token and names the setting", async () => {
    await expect(opened({ SIMFLEET_HTTP_HOST: "0.0.0.0" })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("SIMFLEET_HTTP_ADMIN_TOKEN_FILE"),
    });
  });
});

describe("metrics", () => {
  test("metrics require a viewer and match the documented table", async () => {
    expect((await harness.ask("/metrics")).status).toBe(401);
    await harness.ask("/v1/me", { as: "viewer" });
    const text = await (await harness.ask("/metrics", { as: "viewer" })).text();
    expect(text).toContain('simfleet_runs{state="completed"} 0');
    expect(text).toMatch(/simfleet_http_request_seconds_count\{method="GET",route="\/v1\/me",status="200"\} [1-9]/);
    expect(text).toContain("process_resident_memory_bytes");
    expect(text).not.toContain("sf_viewer");
  });

  test("metrics cover webhooks, automations, and schedules", async () => {
    const text = await (await harness.ask("/metrics", { as: "viewer" })).text();
    for (const line of [
      'simfleet_deliveries_pending{webhook="ops"} 0',
      'simfleet_webhook_stopped{webhook="ops"} 0',
      'simfleet_automation_stopped{automation="new-ones"} 0',
      'simfleet_automation_events_total{automation="new-ones",outcome="done"} 0',
    ]) {
      expect(text).toContain(line);
    }
    // Its task has never ended.
    expect(text).not.toContain("simfleet_schedule_last_result{");
  });

  test("metrics can be made public in the configuration", async () => {
    await using own = await ControlHarness.open({ http: "  metrics: open\n" });
    expect((await own.ask("/metrics")).status).toBe(200);
  });
});
