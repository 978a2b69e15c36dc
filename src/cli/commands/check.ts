/** `simfleet check`: one line per problem, with its fix. */
import { bucketOf } from "#api/operations/operation.ts";
import { listSims } from "#api/operations/sims.ts";
import { access, constants, stat } from "node:fs/promises";
import { join } from "node:path";
import { Command } from "@commander-js/extra-typings";
import { type App, sectionOfFeature } from "#kernel/app.ts";
import type { Check } from "#kernel/feature.ts";
import { type Config, requirePlatform } from "#config/config.ts";
import { ConfigError, SimfleetError, messageOf } from "#core/errors.ts";
import { systemClock } from "#core/time.ts";
import { openFile } from "#core/files/open-file.ts";
import { checkFolder } from "#core/files/write-file.ts";
import { assertCanWrite } from "#core/files/output-file.ts";
import { tasksOfWorkers } from "#kernel/reload.ts";
import type { AnyFeature } from "../feature.ts";
import { type CommonOptions, type Context, withCommon } from "../context.ts";

/** A larger difference breaks one-time codes and token lifetimes. */
const maxClockDriftMs = 5_000;

/** How a status is shown to people; JSON keeps the status. */
const labels = { ok: "ok", warning: "warn", wrong: "FAIL" };

interface Finding {
  readonly what: string;
  readonly status: "ok" | "warning" | "wrong";
  /** The finding, or the problem and how to fix it. */
  readonly detail: string;
  readonly exitCode?: number;
}

export function checkCommand(context: Context): Command {
  return withCommon(new Command("check"), "simfleet check", "locally").action(async (options) => {
    const output = context.output(options);
    const findings = await checkAll(context, options);
    const width = Math.max(...findings.map(({ what }) => what.length));
    output.answer({ ok: findings.every(({ status }) => status !== "wrong"), findings }, (shown) =>
      shown.findings
        .map(({ what, status, detail }) => `${labels[status].padEnd(4)}  ${what.padEnd(width)}  ${detail}`)
        .join("\n"),
    );
    const firstWrong = findings.find(({ status }) => status === "wrong");
    context.io.setExitCode(firstWrong?.exitCode ?? 0);
  });
}

async function checkAll(context: Context, options: CommonOptions): Promise<Finding[]> {
  let config: Config;
  try {
    config = await context.config(options);
  } catch (thrown) {
    return wrongSettings("configuration", thrown);
  }
  const findings: Finding[] = [
    ok(
      "configuration",
      `${config.file ?? "from environment variables only"}${config.tasksHash === undefined ? "" : `, tasks ${config.tasksHash}`}`,
    ),
    ...(config.proxy === undefined ? [] : [ok("proxy", `${config.proxy.shown} (${config.proxy.variable})`)]),
    ...config.warnings.map(({ where, message }) => warning("configuration", `${where}: ${message}`)),
  ];
  try {
    await context.withApp(config, async (app) => {
      findings.push(...redisFindings(app), ...(await taskFindings(app)));
      findings.push(await checkClock(app));
      for (const name of Object.keys(config.profiles)) findings.push(...(await checkProfile(app, config, name)));
      for (const feature of context.features) findings.push(...(await checkFeature(feature, config)));
    });
  } catch (thrown) {
    findings.push(wrong("redis", messageOf(thrown), thrown));
  }
  return findings;
}

/** The workers whose tasks differ from those of this configuration. */
async function taskFindings({ kernel }: App): Promise<Finding[]> {
  const own = kernel.config.tasksHash ?? "none";
  const others = (await tasksOfWorkers(kernel)).filter(({ hash }) => hash !== own);
  return others.map(({ worker, hash }) =>
    warning(
      "configuration",
      `the worker ${worker} has other tasks: ${hash}. Give all processes the same configuration.`,
    ),
  );
}

const topologies = { server: "", sentinel: "primary named by Sentinel, ", cluster: "cluster, " };

function redisFindings({ kernel: { redisFacts, redisPlace } }: App): Finding[] {
  const { topology, version, warnings } = redisFacts;
  // Redis with another policy is not used at all.
  const facts = `${topologies[topology]}version ${version}, maxmemory-policy noeviction`;
  return [ok("redis", `${redisPlace}, ${facts}`), ...warnings.map((detail) => warning("redis", detail))];
}

async function checkProfile(app: App, config: Config, name: string): Promise<Finding[]> {
  const what = (topic: string): string => (name === "default" ? topic : `${topic} of ${name}`);
  let address: string;
  try {
    address = requirePlatform(config, name).authEndpoint;
  } catch (thrown) {
    return wrongSettings(what("profile"), thrown);
  }
  try {
    const client = app.kernel.client(name);
    const me = await client.whoAmI();
    await client.assertAddress();
    const who = me.userName === undefined ? me.operatorId : `${me.userName} of ${me.operatorId}`;
    const covered = me.coverageTypes === undefined ? who : `${who}, coverage ${me.coverageTypes.join(" and ")}`;
    const unverified = "signature not verified: set SIMFLEET_JWKS_URL or SIMFLEET_TOKEN_PUBLIC_KEY_FILE to verify it";
    return [
      ok(what("address"), address),
      ok(what("credentials"), `${covered}, token valid until ${new Date(me.expiresAtMs).toISOString()}`),
      ...(await checkAuthKeys(app, name, what("AuthKey"))),
      ...platformClock(app.kernel.accounts.of(name).clockAheadMs, what("clock")),
      config.tokenKey === undefined ? warning(what("token"), unverified) : ok(what("token"), "signature verified"),
    ];
  } catch (thrown) {
    const code = thrown instanceof SimfleetError ? thrown.code : "INTERNAL";
    const isRefusal = code === "PLATFORM_UNAUTHORIZED" || code === "PLATFORM_FORBIDDEN";
    if (!isRefusal) return [wrong(what("address"), messageOf(thrown), thrown)];
    return [
      ok(what("address"), address),
      wrong(what("credentials"), messageOf(thrown), thrown),
      ...(await checkAuthKeys(app, name, what("AuthKey"))),
    ];
  }
}

/** Checks each of two AuthKeys on its own: the client would silently use the second if the first fails. */
async function checkAuthKeys(app: App, profile: string, what: string): Promise<Finding[]> {
  const proven = await app.kernel.accounts.of(profile).proveAuthKeys();
  return proven.map(({ authKeyId, fault }) =>
    fault === undefined
      ? ok(what, `${authKeyId} is accepted`)
      : wrong(what, `${authKeyId}: ${messageOf(fault)}`, fault),
  );
}

/** The checks of a feature: its lines, and faults of the files that nothing opens before a task or rotation is due. */
async function checkFeature(feature: AnyFeature, config: Config): Promise<Finding[]> {
  const checks = (await feature.checks?.(await sectionOfFeature(config, feature))) ?? [];
  return (await Promise.all(checks.map(runCheck))).flat();
}

async function runCheck(check: Check): Promise<Finding[]> {
  const { what } = check;
  if ("detail" in check) return [ok(what, check.detail)];
  const { path, use } = check;
  try {
    await { read: assertReadable, write: assertCanWrite, folder: assertFolder }[use](path);
    return use === "folder" ? [ok(what, path)] : [];
  } catch (thrown) {
    const reason = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown;
    const fix = use === "folder" ? "; create it, and give the worker's user read, write and execute permission" : "";
    return [{ what, status: "wrong", detail: `${path} cannot be used: ${messageOf(reason)}${fix}`, exitCode: 2 }];
  }
}

/** The worker renames files in such a folder and creates subfolders. */
async function assertFolder(path: string): Promise<void> {
  if (!(await stat(path)).isDirectory()) throw new Error("it is not a folder");
  await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  for (const place of ["processing", "done", "failed"]) {
    await checkFolder(join(path, place)).catch((thrown: unknown) => {
      if ((thrown as NodeJS.ErrnoException).code !== "ENOENT") throw thrown;
    });
  }
}

async function assertReadable(path: string): Promise<void> {
  await (await openFile(path, { links: "follow" })).close();
}

/** One-time codes and token lifetimes need a correct clock; Redis's clock is the reference. */
async function checkClock(app: App): Promise<Finding> {
  const { nowMs } = await app.kernel.limiter.state(bucketOf(listSims, app.kernel.config.profile));
  const driftMs = Math.abs(nowMs - systemClock.wallMs());
  if (driftMs <= maxClockDriftMs) return ok("clock", `within ${(driftMs / 1_000).toFixed(1)} s of Redis's`);
  const seconds = (driftMs / 1_000).toFixed(0);
  return warning(
    "clock",
    `differs from Redis's by ${seconds} s: synchronize both machines with NTP, or one-time codes will be rejected`,
  );
}

/** One-time codes depend on the platform's clock. */
function platformClock(aheadMs: number, what: string): Finding[] {
  if (!(Math.abs(aheadMs) > maxClockDriftMs)) return [];
  const seconds = `${(Math.abs(aheadMs) / 1_000).toFixed(0)} s ${aheadMs > 0 ? "behind" : "ahead of"}`;
  return [warning(what, `${seconds} the platform's: synchronize this machine with NTP`)];
}

function ok(what: string, detail: string): Finding {
  return { what, status: "ok", detail };
}

function warning(what: string, detail: string): Finding {
  return { what, status: "warning", detail };
}

function wrong(what: string, detail: string, thrown: unknown): Finding {
  return { what, status: "wrong", detail, exitCode: thrown instanceof SimfleetError ? thrown.exitCode : 4 };
}

/** A line for each fault of the configuration. @throws anything else */
function wrongSettings(what: string, thrown: unknown): Finding[] {
  if (!(thrown instanceof ConfigError)) throw thrown;
  return thrown.problems.map(({ where, message }) => wrong(what, `${where}: ${message}`, thrown));
}
