/** What a run depends on and can fail: addresses, names, Redis, disks, readers of its output. */
import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { createServer } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import { createAuthority } from "../support/certificates.ts";
import { connectProxy } from "../support/connect-proxy.ts";
import { isLong } from "../support/long.ts";
import { redisOnPort } from "./support/redis-server.ts";
import { column, counted, runIdIn } from "./support/results.ts";
import { CliHarness, type RunDocument } from "./support/cli-harness.ts";

function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1) ?? "";
}

/** How long a command takes that asks nobody: what this machine needs to start a process just now. */
async function startMsOf(harness: CliHarness): Promise<number> {
  const beforeMs = performance.now();
  await harness.run(["--version"]);
  return performance.now() - beforeMs;
}

describe.concurrent("platform addresses that do not work", () => {
  test("apply ends with exit code 4 and one sentence for a port where nothing listens", async () => {
    await using harness = await CliHarness.open({ env: { SIMFLEET_ENDPOINT_GLOBAL: "http://127.0.0.1:9" }, rows: 3 });
    const failed = await harness.run(["apply", "fleet.csv", "--yes"]);
    expect(failed).toMatchObject({ code: 4, stdout: "" });
    expect(lastLine(failed.stderr)).toBe(
      "simfleet: auth: 127.0.0.1:9 refused the connection. Check that it is running, and the port in SIMFLEET_ENDPOINT_GLOBAL.",
    );
    expect((await harness.json<{ runs: unknown[] }>(["runs", "list"])).document.runs).toEqual([]);
  });
});

test("a proxy of the environment carries calls, keys and messages, and is shown without its password", async () => {
  await using harness = await CliHarness.open({
    isProcessPerCommand: true,
    rows: 3,
    config: "logLevel: info\n",
    env: { SIMFLEET_ENDPOINT_GLOBAL: "https://platform.invalid" },
  });
  const authority = createAuthority();
  const names = ["platform.invalid", "keys.invalid", "hook.invalid"];
  // TLS ends here, not at the proxy.
  const platform = createServer(authority.issue("platform.invalid", names), (socket) => {
    const onward = connect(Number(new URL(harness.sandbox.url).port), "127.0.0.1");
    socket
      .on("error", () => onward.destroy())
      .pipe(onward)
      .on("error", () => socket.destroy())
      .pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(platform, "listening");
  onTestFinished(() => void platform.close());
  await using proxy = await connectProxy({ to: (platform.address() as AddressInfo).port, login: "anna:sesame-4711" });
  const env = {
    NODE_EXTRA_CA_CERTS: harness.path("ca.pem"),
    https_proxy: `http://anna:sesame-4711@127.0.0.1:${proxy.port}`,
    SIMFLEET_JWKS_URL: "https://keys.invalid/.well-known/jwks.json",
    SIMFLEET_WEBHOOKS: '{ ops: { url: "https://hook.invalid/x", format: slack, events: ["run.*"] } }',
  };
  await harness.write("ca.pem", authority.cert);
  const check = await harness.run(["check"], env);
  expect(check.stdout).toMatch(new RegExp(`^ok +proxy +http://127.0.0.1:${proxy.port} \\(https_proxy\\)`, "m"));
  expect(check.stdout).toMatch(/^ok +token +signature verified$/m);
  expect(await harness.run(["apply", "fleet.csv", "--yes"], env)).toMatchObject({ code: 0 });
  expect((await harness.run(["webhooks", "test", "ops"], env)).stdout).toContain("404");
  expect(new Set(proxy.asked)).toEqual(new Set(names.map((name) => `${name}:443`)));
  const refused = await harness.run(["check"], { ...env, https_proxy: `http://127.0.0.1:${proxy.port}` });
  expect(refused.stdout).toMatch(/^FAIL +address +auth: the proxy asks for a user and a password \(407\)\./m);
  expect(JSON.stringify([check, refused])).not.toContain("sesame-4711");
});

describe.concurrent("unsuitable Redis servers", () => {
  test("every command ends with exit code 4 within six seconds when no Redis is at the address", async () => {
    await using harness = await CliHarness.open({ env: { SIMFLEET_REDIS_URL: "redis://127.0.0.1:9" } });
    const startMs = await startMsOf(harness);
    const beforeMs = performance.now();
    const failed = await harness.json<{ error: object }>(["runs", "list"]);
    const tookMs = performance.now() - beforeMs;
    // What a process takes to start on a busy machine is not what is waited for Redis.
    expect(tookMs - startMs).toBeLessThan(6_000);
    const message =
      "Redis at 127.0.0.1:9 cannot be used: connect ECONNREFUSED 127.0.0.1:9. Check that it is running and that SIMFLEET_REDIS_URL is correct.";
    expect(failed).toMatchObject({ code: 4, stderr: `simfleet: ${message}\n` });
    expect(failed.document).toEqual({ error: { code: "STORE_UNAVAILABLE", message } });
  });
});

describe.runIf(isLong).concurrent("Redis outages during a run", () => {
  test("a Redis outage during a run is reported, and Ctrl-C leaves the run resumable", async () => {
    await using harness = await CliHarness.open({ sims: 100, limits: { Sim: 10 }, rows: 100 });
    await using server = await redisOnPort(harness);
    const env = { SIMFLEET_REDIS_URL: server.url };
    const apply = harness.start(["apply", "fleet.csv", "--yes"], env);
    await harness.untilChanges(10);
    server.process.kill("SIGKILL");
    await apply.said(/Redis has not responded for \d+ s\. Nothing is lost: the run waits for it\.\n/);
    const before = performance.now();
    apply.kill("SIGINT");
    const left = await apply.ended;
    expect(performance.now() - before).toBeLessThan(20_000);
    expect(left.code).toBe(130);
    const runId = runIdIn(left.stderr);
    expect(lastLine(left.stderr)).toBe(
      "simfleet: Redis is not responding, so this command stopped. No recorded outcome is lost. " +
        `When Redis is back, resume with: simfleet runs resume ${runId}`,
    );
    await using again = await redisOnPort(harness, server.port);
    harness.sandbox.throttle.changeLimit({ group: "Sim", limit: 1_000, afterMs: 0 });
    expect(again.url).toBe(server.url);
    const resumed = await harness.json(["runs", "resume", runId], env);
    expect(resumed).toMatchObject({ code: 0, document: { counts: { done: 100 } } });
  });
});

describe.concurrent("results files that cannot be written", () => {
  test("a run completes when its results cannot be written, and the message says how to get them", async () => {
    await using harness = await CliHarness.open({ rows: 90 });
    await harness.redis(); // not started below, under the limit on the size of files
    const limited = "trap '' XFSZ; ulimit -f 1; simfleet apply fleet.csv --yes --json";
    const { code, stdout, stderr } = await harness.shell(limited).ended;
    const { runId, state, counts } = JSON.parse(stdout) as RunDocument;
    expect([code, state, counts]).toMatchObject([4, "completed", { done: 90 }]);
    expect(lastLine(stderr)).toBe(
      `simfleet: fleet.${runId}.results.csv could not be written: EFBIG: file too large, write. ` +
        `No outcome is lost: write them to another path with simfleet runs results ${runId} --out FILE`,
    );
    expect(await harness.files(".csv")).toEqual(["fleet.csv"]);
    const nowhere = await harness.run(["runs", "results", runId, "--out", "no/such/folder.csv"]);
    const choose = expect.stringMatching(/No outcome is lost: choose another path with --out\n$/) as string;
    expect(nowhere).toMatchObject({ code: 4, stderr: choose });
    expect((await harness.run(["runs", "results", runId, "--out", "results.csv"])).code).toBe(0);
    expect(counted(column(await harness.read("results.csv"), "outcome"))).toEqual({ done: 90 });
  });
});

describe.concurrent("closed output streams", () => {
  test("a run completes when the reader of its messages exits", async () => {
    await using harness = await CliHarness.open({ rows: 60 });
    const piped = await harness.shell("simfleet apply fleet.csv --yes 2>&1 | head -1").ended;
    expect(piped.stdout).toBe("fleet.csv: 60 rows\n");
    const { runs } = (await harness.json<{ runs: { state: string; counts: object }[] }>(["runs", "list"])).document;
    expect(runs).toMatchObject([{ state: "completed", counts: { done: 60 } }]);
  });
});
