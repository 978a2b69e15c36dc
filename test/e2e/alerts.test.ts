/**
 * The alert rules with the metrics of a real worker: each fires after its fault, and none on a day without one. Prometheus's
 * own tool evaluates the rules over hours of made-up scrapes, which repeat the values of real ones.
 */
import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { openReceiver } from "../redis/webhooks/receiver.ts";
import { isLong } from "../support/long.ts";
import { until } from "../support/until.ts";
import { root } from "./support/built-cli.ts";
import { CliHarness } from "./support/cli-harness.ts";
import type { RunningProcess } from "./support/process.ts";
import { unless } from "../support/left-out.ts";

vi.setConfig({ testTimeout: 120_000 });

const promtool = ["/usr/bin/promtool", "/usr/local/bin/promtool"].find((path) => existsSync(path));
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

const settings = (receiver: string): string => `changes: { maxRows: 55 }
schedules:
  nightly: { cron: "0 3 1 1 *", job: sync }
  too-large: { cron: "0 3 1 1 *", job: apply, where: "speedClass exists", speedClass: s1.fast, skipUnchanged: false }
automations:
  new-sims: { on: sim.added, job: apply, speedClass: s1.fast, maxPerHour: 1 }
webhooks:
  ops: { url: "${receiver}", secretFile: hook-secret, events: ["run.*"] }
`;

/** The values of one scrape, by series. */
type Scrape = ReadonlyMap<string, number>;

async function scrape(harness: CliHarness, worker: RunningProcess): Promise<Scrape> {
  const text = await (await harness.ask(worker, "/metrics")).text();
  const lines = text.split("\n").flatMap((line) => {
    const [, series, value] = /^(simfleet_[^ {]+(?:\{.*\})?) (\S+)$/.exec(line) ?? [];
    return series === undefined ? [] : [[series, Number(value)] as const];
  });
  return new Map(lines);
}

const minutes = { before: 30, after: 40 * 60 };

/** One scrape a minute: those of the normal time, then those of the fault. The age of the last sync grows meanwhile. */
function seriesOf(before: Scrape, after: Scrape): { series: string; values: string }[] {
  return [...new Set([...before.keys(), ...after.keys()])].map((series) => {
    const step = series.startsWith("simfleet_sync_age_seconds") ? 60 : 0;
    const first = before.has(series) ? `${before.get(series)}+${step}x${minutes.before}` : `_x${minutes.before}`;
    const rest = after.has(series) ? `${after.get(series)}+${step}x${minutes.after}` : `_x${minutes.after}`;
    return { series, values: `${first} ${rest}` };
  });
}

/** What promtool prints if other alerts fire at these times than the expected ones; empty if they agree. */
function differences(
  folder: string,
  inputSeries: readonly { series: string; values: string }[],
  expected: Readonly<Record<string, readonly string[]>>,
): string {
  const rules = {
    rule_files: [join(root, "deploy/prometheus/alerts.yaml")],
    evaluation_interval: "1m",
    tests: [
      {
        interval: "1m",
        input_series: inputSeries,
        promql_expr_test: Object.entries(expected).map(([time, alerts]) => ({
          expr: 'max by (alertname) (ALERTS{alertstate="firing"})',
          eval_time: time,
          exp_samples: alerts.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
        })),
      },
    ],
  };
  const file = join(folder, "alerts.json");
  writeFileSync(file, JSON.stringify(rules));
  const { status, stdout, stderr } = spawnSync(promtool ?? "", ["test", "rules", file], { encoding: "utf8" });
  return status === 0 ? "" : stdout + stderr;
}

test.skipIf(promtool === undefined || !isLong)(
  `each alert fires after its fault, and none on a day without one${unless(promtool !== undefined, "no promtool here")}`,
  async () => {
    await using receiver = await openReceiver(secret);
    await using harness = await CliHarness.open({
      sims: 60,
      config: settings(receiver.url),
      secretFiles: { "hook-secret": secret },
      env: { SIMFLEET_COVERAGE: "g" },
    });
    const worker = await harness.worker();
    /** The first scrape in which the value holds; values are cached for two seconds. */
    const untilValue = async (series: string, holds: (value: number) => boolean): Promise<Scrape> => {
      let last: Scrape = new Map();
      await until(`${series} has its value`, async () => {
        last = await scrape(harness, worker);
        return holds(last.get(series) ?? 0);
      });
      return last;
    };
    const redis = await harness.redis();

    // A normal day: a sync by a schedule, and a run whose end is delivered.
    await harness.run(["schedules", "trigger", "nightly"]);
    await untilValue('simfleet_schedule_last_result{schedule="nightly",result="done"}', (value) => value === 1);
    await harness.fleet("fleet.csv", 50);
    await harness.run(["apply", "fleet.csv", "--yes", "--send-unchanged"]);
    await until("the end of the run is delivered", () => receiver.received.length >= 2);
    const normal = await untilValue('simfleet_rows{outcome="done"}', (value) => value === 50);
    const day = [...seriesOf(normal, normal), { series: 'up{job="simfleet"}', values: `1x${24 * 60}` }];
    expect(differences(harness.folder, day, { "41m": [], "24h": [] })).toBe("");

    // The faults of the platform, of a receiver, of a schedule, of an automation, of jobs and of Redis.
    receiver.answerWith(() => 410);
    await harness.run(["schedules", "trigger", "too-large"]);
    harness.sandbox.fleet.add(3);
    await harness.run(["sims", "sync"]);
    await untilValue('simfleet_automation_stopped{automation="new-sims"}', (value) => value === 1);
    harness.sandbox.throttle.changeLimit({ group: "Sim", limit: 1, afterMs: 0 });
    await harness.fleet("more.csv", 50);
    await harness.run(["apply", "more.csv", "--yes", "--detach", "--send-unchanged"]);
    await untilValue('simfleet_rows{outcome="done"}', (value) => value > 51);
    // Somebody else takes all of each window at once, so that the first call of each gets a 429.
    harness.sandbox.throttle.compete("Sim", 10_000);
    await untilValue('simfleet_webhook_stopped{webhook="ops"}', (value) => value === 1);
    await untilValue('simfleet_schedule_last_result{schedule="too-large",result="failed"}', (value) => value === 1);
    const quota = `OP0000000001@${new URL(harness.sandbox.url).host}.Sim`;
    await untilValue(`simfleet_rate_limited_total{quota="${quota}"}`, (value) => value > 10);
    // What otherwise takes five killed workers, and ten thousand messages.
    const [queue = ""] = (await redis.smembers("{simfleet}:queues")).filter((name) => name.includes("Sim"));
    await redis.zadd(`{simfleet}:queue:${queue}:failed`, 1, "1");
    await redis.hincrby("{simfleet}:webhook:ops", "dropped", 5);
    await redis.config("SET", "maxmemory", "1");
    for (let n = 0; n < 6; n += 1) {
      const { status } = await harness.ask(worker, "/v1/schedules/nightly/trigger", { method: "POST" });
      expect(status).toBeGreaterThanOrEqual(500);
    }
    const used = Number(/^used_memory:(\d+)/m.exec(await redis.info("memory"))?.[1]);
    await redis.config("SET", "maxmemory", String(Math.floor(used * 1.1)));
    const faulty = await untilValue("simfleet_redis_memory_limit_bytes", (value) => value < used * 2 && value > 1);
    worker.kill("SIGKILL");
    await worker.ended;
    await expect(scrape(harness, worker)).rejects.toThrow("fetch failed");

    const up = { series: 'up{job="simfleet"}', values: `1x${minutes.before} 0x${minutes.after}` };
    const lasting = [
      "SimfleetDown",
      "SimfleetJobsFailed",
      "SimfleetScheduleFailed",
      "SimfleetAutomationStopped",
      "SimfleetWebhookStopped",
    ];
    expect(
      differences(harness.folder, [...seriesOf(normal, faulty), up], {
        "28m": [],
        "42m": [
          ...lasting,
          "SimfleetRateLimited",
          "SimfleetDeliveriesDropped",
          "SimfleetRedisMemoryLow",
          "SimfleetServerErrors",
        ],
        "38h": [...lasting, "SimfleetNoProgress", "SimfleetRedisMemoryLow", "SimfleetSyncOld"],
      }),
    ).toBe("");
  },
);
