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

test.concurrent("apply ends with exit code 4 and one sentence for a port where nothing listens", async () => {
  await using harness = await CliHarness.open({ env: { SIMFLEET_ENDPOINT_GLOBAL: "http://127.0.0.1:9" }, rows: 3 });
  const failed = await harness.run(["apply", "fleet.csv", "--yes"]);
  expect(failed).toMatchObject({ code: 4, stdout: "" });
  expect(lastLine(failed.stderr)).toBe(
    "simfleet: auth: 127.0.0.1:9 refused the connection. Check that it is running, and the port in SIMFLEET_ENDPOINT_GLOBAL.",
  );
  expect((await harness.json<{ runs: unknown[] }>(["runs", "list"])).document.runs).toEqual([]);
});

describe("a proxy of the environment", () => {
  const names = ["platform.invalid", "keys.invalid", "hook.invalid"];

  /** Puts the sandbox behind TLS, which ends here, not at the proxy. @returns the port, and who is to be trusted */
  async function listenWithTls({ sandbox }: CliHarness) {
    const authority = createAuthority();
    const platform = createServer(authority.issue("platform.invalid", names), (socket) => {
      const onward = connect(Number(new URL(sandbox.url).port), "127.0.0.1");
      socket
        .on("error", () => onward.destroy())
        .pipe(onward)
        .on("error", () => socket.destroy())
        .pipe(socket);
    }).listen(0, "127.0.0.1");
    await once(platform, "listening");
    onTestFinished(() => void platform.close());
    return { port: (platform.address() as AddressInfo).port, ca: authority.cert };
  }

  /** A harness whose hosts are reached through a proxy alone, which asks for a password. */
  async function setup() {
    const env = {
      NODE_EXTRA_CA_CERTS: "ca.pem",
      SIMFLEET_ENDPOINT_GLOBAL: "https://platform.invalid",
      SIMFLEET_JWKS_URL: "https://keys.invalid/.well-known/jwks.json",
      SIMFLEET_WEBHOOKS: '{ ops: { url: "https://hook.invalid/x", format: slack, events: ["run.*"] } }',
    };
    const harness = await CliHarness.open({ isProcessPerCommand: true, rows: 3, config: "logLevel: info\n", env });
    const { port, ca } = await listenWithTls(harness);
    await harness.write("ca.pem", ca);
    const proxy = await connectProxy({ to: port, login: "anna:sesame-4711" });
    onTestFinished(() => proxy[Symbol.asyncDispose]());
    const runBehind = (line: string, login = "anna:sesame-4711@") =>
      harness.run(line.split(" "), { https_proxy: `http://${login}127.0.0.1:${proxy.port}` });
    return Object.assign(harness, { proxy, runBehind });
  }

  test("carries calls, keys and messages", async () => {
    await using harness = await setup();
    const { proxy, runBehind } = harness;
    const { stdout } = await runBehind("check");
    expect(stdout).toMatch(/^ok +credentials +OP0000000001, coverage g, token valid until /m);
    expect(stdout).toMatch(/^ok +token +signature verified$/m);
    expect(await runBehind("apply fleet.csv --yes")).toMatchObject({ code: 0 });
    expect((await runBehind("webhooks test ops")).stdout).toContain("404");
    expect(new Set(proxy.asked)).toEqual(new Set(names.map((name) => `${name}:443`)));
  });

  test("is shown without its password, and named when it refuses a call without one", async () => {
    await using harness = await setup();
    const { proxy, runBehind } = harness;
    const check = await runBehind("check");
    expect(check.stdout).toMatch(new RegExp(`^ok +proxy +http://127.0.0.1:${proxy.port} \\(https_proxy\\)`, "m"));
    const refused = await runBehind("check", "");
    expect(refused.stdout).toMatch(/^FAIL +address +auth: the proxy asks for a user and a password \(407\)\./m);
    expect(JSON.stringify([check, refused])).not.toContain("sesame-4711");
  });
});

test.concurrent("every command ends with exit code 4 within six seconds when no Redis is at the address", async () => {
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

describe.runIf(isLong).concurrent("a Redis outage during a run", () => {
  /** Takes Redis away in the middle of `apply`, which reports it, and presses Ctrl-C. */
  async function setup() {
    const harness = await CliHarness.open({ sims: 100, limits: { Sim: 10 }, rows: 100 });
    const server = await redisOnPort(harness);
    const apply = harness.start(["apply", "fleet.csv", "--yes"], { SIMFLEET_REDIS_URL: server.url });
    await harness.untilChanges(10);
    server.process.kill("SIGKILL");
    await apply.said(/Redis has not responded for \d+ s\. Nothing is lost: the run waits for it\.\n/);
    const beforeMs = performance.now();
    const left = await apply.end("SIGINT");
    const tookMs = performance.now() - beforeMs;
    return Object.assign(harness, { server, left, tookMs, runId: runIdIn(left.stderr) });
  }

  test("is reported, and Ctrl-C ends the command with how to resume the run", async () => {
    await using harness = await setup();
    const { left, tookMs, runId } = harness;
    expect(tookMs).toBeLessThan(20_000);
    expect(left.code).toBe(130);
    expect(lastLine(left.stderr)).toBe(
      "simfleet: Redis is not responding, so this command stopped. No recorded outcome is lost. " +
        `When Redis is back, resume with: simfleet runs resume ${runId}`,
    );
  });

  test("leaves the run resumable after Ctrl-C", async () => {
    await using harness = await setup();
    const { server, runId } = harness;
    await using again = await redisOnPort(harness, server.port);
    harness.sandbox.throttle.changeLimit({ group: "Sim", limit: 1_000, afterMs: 0 });
    const resumed = await harness.json(["runs", "resume", runId], { SIMFLEET_REDIS_URL: again.url });
    expect(resumed).toMatchObject({ code: 0, document: { counts: { done: 100 } } });
  });
});

describe.concurrent("results that cannot be written", () => {
  /** Applies 90 rows where no file can have their results. */
  async function setup() {
    const harness = await CliHarness.open({ rows: 90 });
    await harness.redis(); // not started below, under the limit on the size of files
    const limited = "trap '' XFSZ; ulimit -f 1; simfleet apply fleet.csv --yes --json";
    const { code, stdout, stderr } = await harness.shell(limited).ended;
    return Object.assign(harness, { code, stderr, applied: JSON.parse(stdout) as RunDocument });
  }

  test("do not keep a run from its end, and the message says how to get them", async () => {
    await using harness = await setup();
    const { runId, state, counts } = harness.applied;
    expect([harness.code, state, counts]).toMatchObject([4, "completed", { done: 90 }]);
    expect(lastLine(harness.stderr)).toBe(
      `simfleet: fleet.${runId}.results.csv could not be written: EFBIG: file too large, write. ` +
        `No outcome is lost: write them to another path with simfleet runs results ${runId} --out FILE`,
    );
    expect(await harness.files(".csv")).toEqual(["fleet.csv"]);
  });

  test("can be written to another path", async () => {
    await using harness = await setup();
    const results = ["runs", "results", harness.applied.runId, "--out"];
    const nowhere = await harness.run([...results, "no/such/folder.csv"]);
    const choose = expect.stringMatching(/No outcome is lost: choose another path with --out\n$/) as string;
    expect(nowhere).toMatchObject({ code: 4, stderr: choose });
    expect((await harness.run([...results, "results.csv"])).code).toBe(0);
    expect(counted(column(await harness.read("results.csv"), "outcome"))).toEqual({ done: 90 });
  });
});

test.concurrent("a run completes when the reader of its messages exits", async () => {
  await using harness = await CliHarness.open({ rows: 60 });
  const piped = await harness.shell("simfleet apply fleet.csv --yes 2>&1 | head -1").ended;
  expect(piped.stdout).toBe("fleet.csv: 60 rows\n");
  const { runs } = (await harness.json<{ runs: { state: string; counts: object }[] }>(["runs", "list"])).document;
  expect(runs).toMatchObject([{ state: "completed", counts: { done: 60 } }]);
});
