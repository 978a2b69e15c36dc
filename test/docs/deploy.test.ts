/** What deploy/ contains agrees with the metrics, the docs and the tools that read it. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { load } from "js-yaml";
import { histogramCatalogue, metricCatalogue } from "#telemetry/metrics.ts";
import { unless } from "../support/left-out.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string): string => readFileSync(`${root}${path}`, "utf8");

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

const { groups } = load(read("deploy/prometheus/alerts.yaml")) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

const known = new Set<string>([
  ...Object.values(metricCatalogue).map(({ name }) => name),
  ...Object.values(histogramCatalogue).flatMap(({ name }) => [`${name}_bucket`, `${name}_count`, `${name}_sum`]),
]);
const metricsIn = (text: string): string[] => text.match(/simfleet_[a-z_]+/g) ?? [];

/** The tool, or undefined where it is not installed. */
function tool(...places: string[]): string | undefined {
  return places.find((place) => existsSync(place));
}

function run(command: string, ...args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: "utf8" });
  return { status, output: stdout + stderr };
}

describe("alert rules", () => {
  test.each(rules.map((rule) => [rule.alert, rule] as const))(
    "%s has a severity, a section in docs/monitor.md, and uses existing metrics",
    (alert, { expr, labels: { severity }, annotations }) => {
      expect(["page", "ticket"]).toContain(severity);
      expect(annotations.runbook).toBe(`docs/monitor.md#${alert.toLowerCase()}`);
      expect(read("docs/monitor.md")).toContain(`### ${alert}\n\n*${severity}.* `);
      expect(metricsIn(expr).filter((name) => !known.has(name))).toEqual([]);
    },
  );

  test("each alert is tested with a fault and on a normal day", () => {
    const { tests } = load(read("deploy/prometheus/alerts.test.yaml")) as { tests: { name: string }[] };
    const names = tests.map(({ name }) => name);
    expect(names).toEqual(rules.flatMap(({ alert }) => [`${alert}, fault`, `${alert}, normal`]));
  });

  const promtool = tool("/usr/bin/promtool", "/usr/local/bin/promtool");
  test.skipIf(promtool === undefined)(
    `the alert rules pass their promtool tests${unless(promtool !== undefined, "no promtool here")}`,
    () => {
      const { status, output } = run(promtool ?? "", "test", "rules", "deploy/prometheus/alerts.test.yaml");
      expect({ status, output }).toEqual({ status: 0, output: expect.stringContaining("SUCCESS") as unknown });
    },
  );
});

test("every metric of the Grafana dashboard exists", () => {
  const text = read("deploy/grafana/simfleet.json");
  const { panels } = JSON.parse(text) as { panels: { title: string; targets: { expr: string }[] }[] };
  expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
  expect(metricsIn(text).length).toBeGreaterThan(15);
  expect(metricsIn(text).filter((name) => !known.has(name))).toEqual([]);
});

describe("the systemd unit", () => {
  const analyze = tool("/usr/bin/systemd-analyze");
  /** An installed program and user are all that it needs to be checked. */
  const unit = read("deploy/systemd/simfleet.service")
    .replace("/usr/bin/simfleet", "/usr/bin/true")
    .replace("User=simfleet", "User=root")
    .replace("Group=simfleet", "Group=root");

  test("the systemd unit starts the worker and gives it more time to stop than it takes", () => {
    expect(unit).toContain("ExecStart=/usr/bin/true worker ");
    expect(unit).toContain("TimeoutStopSec=30");
  });

  test.skipIf(analyze === undefined)(
    `the systemd unit is valid and restricts the worker${unless(analyze !== undefined, "no systemd-analyze here")}`,
    async () => {
      const path = join(temporaryFolder(), "simfleet.service");
      await writeFile(path, unit);
      expect(run(analyze ?? "", "verify", path)).toEqual({ status: 0, output: "" });
      const rated = run(analyze ?? "", "security", "--offline=true", "--threshold=20", path);
      expect(rated.output).toMatch(/Overall exposure level for simfleet\.service: \d/);
      expect(rated.status).toBe(0);
    },
  );
});
