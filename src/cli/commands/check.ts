/** `simfleet check`: one line per problem, with its fix. */
import { bucketOf } from "#api/operations/operation.ts";
import { listSims } from "#api/operations/sims.ts";
import { access, constants, stat } from "node:fs/promises";
import { join } from "node:path";
import { Command } from "@commander-js/extra-typings";
import type { App } from "#kernel/app.ts";
import { type Config, requirePlatform } from "#config/config.ts";
import { ConfigError, SimfleetError, messageOf } from "#core/errors.ts";
import { systemClock } from "#core/time.ts";
import { checkFolder } from "#core/files/write-file.ts";
import type { Schedule } from "#fleet/schedule.ts";
import { nextTimes } from "#jobs/schedules/service.ts";
import { type CommonOptions, type Context, withLocalOptions } from "../context.ts";

const checkStrings = {
  description: "check configuration, Redis, platform addresses, credentials and clock",
  labels: { ok: "ok", warning: "warning", wrong: "FAIL" },
  topics: {
    configuration: "configuration",
    redis: "redis",
    clock: "clock",
    profile: "profile",
    address: "address",
    credentials: "credentials",
    token: "token",
    authKey: "AuthKey",
    dropFolder: "drop folder",
  },
  ofProfile: (topic: string, profile: string) => `${topic} of ${profile}`,
  ofSchedule: (name: string) => `schedule ${name}`,
  fault: (where: string, message: string) => `${where}: ${message}`,
  noFile: "from environment variables only",
  topologies: { server: "", sentinel: "primary named by Sentinel, ", cluster: "cluster, " },
  redis: (address: string, topology: string, version: string, policy: string) =>
    `${address}, ${topology}version ${version}, maxmemory-policy ${policy}`,
  user: (name: string, operatorId: string) => `${name} of ${operatorId}`,
  coverage: (who: string, coverageTypes: readonly string[]) => `${who}, coverage ${coverageTypes.join(" and ")}`,
  validUntil: (who: string, until: string) => `${who}, token valid until ${until}`,
  signatureUnknown: "signature not verified: set SIMFLEET_JWKS_URL or SIMFLEET_TOKEN_PUBLIC_KEY_FILE to verify it",
  signatureVerified: "signature verified",
  authKeyAccepted: (authKeyId: string) => `${authKeyId} is accepted`,
  notAFolder: (path: string) => `${path} is not a folder`,
  folderUnusable: (path: string, reason: string) =>
    `${path} cannot be used: ${reason}; create it, and give the worker's user read, write and execute permission`,
  nextTimes: (times: readonly string[]) => `next ${times.join(", ")}`,
  clockRight: (seconds: string) => `within ${seconds} s of Redis's`,
  clockWrong: (seconds: string) =>
    `differs from Redis's by ${seconds} s: synchronize both machines with NTP, or one-time codes will be rejected`,
} as const;

/** A larger difference breaks one-time codes and token lifetimes. */
const maxClockDriftMs = 5_000;

/** How a status is shown to people; JSON keeps the status. */
const { labels, topics } = checkStrings;

/** One line of the report. */
interface Finding {
  readonly what: string;
  readonly status: "ok" | "warning" | "wrong";
  /** The finding, or the problem and how to fix it. */
  readonly detail: string;
  readonly exitCode?: number;
}

export function checkCommand(context: Context): Command {
  const command = new Command("check").description(checkStrings.description);
  return withLocalOptions(command, "simfleet check").action(async (options) => {
    const output = context.output(options);
    const findings = await checkAll(context, options);
    const width = Math.max(...findings.map(({ what }) => what.length));
    output.answer({ ok: findings.every(({ status }) => status !== "wrong"), findings }, (shown) =>
      shown.findings
        .map(({ what, status, detail }) => `${labels[status].padEnd(7)}  ${what.padEnd(width)}  ${detail}`)
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
    if (!(thrown instanceof ConfigError)) throw thrown;
    return thrown.problems.map(({ where, message }) =>
      wrong(topics.configuration, checkStrings.fault(where, message), thrown),
    );
  }
  const findings: Finding[] = [
    ok(topics.configuration, config.file ?? checkStrings.noFile),
    ...config.warnings.map(({ where, message }): Finding => ({
      what: topics.configuration,
      status: "warning",
      detail: checkStrings.fault(where, message),
    })),
  ];
  try {
    await context.withApp(config, async (app) => {
      findings.push(...redisFindings(app));
      findings.push(await checkClock(app));
      for (const name of Object.keys(config.profiles)) findings.push(...(await checkProfile(app, config, name)));
      if (config.dropFolder !== undefined) findings.push(await checkDropFolder(config.dropFolder.path));
      findings.push(
        ...config.schedules.map((schedule) => ok(checkStrings.ofSchedule(schedule.name), timesText(schedule))),
      );
    });
  } catch (thrown) {
    findings.push(wrong(topics.redis, messageOf(thrown), thrown));
  }
  return findings;
}

function redisFindings({ kernel: { redisFacts, redisPlace } }: App): Finding[] {
  const { topology, version, maxmemoryPolicy, warnings } = redisFacts;
  const kind = checkStrings.topologies[topology];
  return [
    ok(topics.redis, checkStrings.redis(redisPlace, kind, version, maxmemoryPolicy)),
    ...warnings.map((detail): Finding => ({ what: topics.redis, status: "warning", detail })),
  ];
}

async function checkProfile(app: App, config: Config, name: string): Promise<Finding[]> {
  const what = (topic: string): string => (name === "default" ? topic : checkStrings.ofProfile(topic, name));
  let address: string;
  try {
    address = requirePlatform(config, name).authEndpoint;
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
    return thrown.problems.map(({ where, message }) =>
      wrong(what(topics.profile), checkStrings.fault(where, message), thrown),
    );
  }
  try {
    const client = app.kernel.client(name);
    const me = await client.whoAmI();
    await client.assertAddress();
    const who = me.userName === undefined ? me.operatorId : checkStrings.user(me.userName, me.operatorId);
    const covered = me.coverageTypes === undefined ? who : checkStrings.coverage(who, me.coverageTypes);
    return [
      ok(what(topics.address), address),
      ok(what(topics.credentials), checkStrings.validUntil(covered, new Date(me.expiresAtMs).toISOString())),
      ...(await checkAuthKeys(app, name, what)),
      config.tokenKey === undefined
        ? { what: what(topics.token), status: "warning", detail: checkStrings.signatureUnknown }
        : ok(what(topics.token), checkStrings.signatureVerified),
    ];
  } catch (thrown) {
    const code = thrown instanceof SimfleetError ? thrown.code : "INTERNAL";
    const isRefusal = code === "PLATFORM_UNAUTHORIZED" || code === "PLATFORM_FORBIDDEN";
    return isRefusal
      ? [
          ok(what(topics.address), address),
          wrong(what(topics.credentials), messageOf(thrown), thrown),
          ...(await checkAuthKeys(app, name, what)),
        ]
      : [wrong(what(topics.address), messageOf(thrown), thrown)];
  }
}

/** Checks each of two AuthKeys on its own: the client would silently use the second if the first fails. */
async function checkAuthKeys(app: App, name: string, what: (topic: string) => string): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { authKeyId, fault } of await app.kernel.accounts.proveAuthKeys(name)) {
    if (fault === undefined) findings.push(ok(what(topics.authKey), checkStrings.authKeyAccepted(authKeyId)));
    else findings.push(wrong(what(topics.authKey), checkStrings.fault(authKeyId, messageOf(fault)), fault));
  }
  return findings;
}

/** The worker renames files in this folder and creates subfolders. */
async function checkDropFolder(path: string): Promise<Finding> {
  const what = topics.dropFolder;
  try {
    if (!(await stat(path)).isDirectory())
      return { what, status: "wrong", detail: checkStrings.notAFolder(path), exitCode: 2 };
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
    for (const place of ["processing", "done", "failed"]) {
      await checkFolder(join(path, place)).catch((thrown: unknown) => {
        if ((thrown as NodeJS.ErrnoException).code !== "ENOENT") throw thrown;
      });
    }
    return ok(what, path);
  } catch (thrown) {
    return { what, status: "wrong", detail: checkStrings.folderUnusable(path, messageOf(thrown)), exitCode: 2 };
  }
}

/** The next three times, in the schedule's time zone and in UTC. */
function timesText(schedule: Schedule): string {
  const times = nextTimes(schedule, systemClock.wallMs()).map(
    ({ at, local }) => `${local} (${at.replace(".000Z", "Z")})`,
  );
  return checkStrings.nextTimes(times);
}

/** One-time codes and token lifetimes need a correct clock; Redis's clock is the reference. */
async function checkClock(app: App): Promise<Finding> {
  const { nowMs } = await app.kernel.limiter.state(bucketOf(listSims, app.kernel.config.profile));
  const driftMs = Math.abs(nowMs - systemClock.wallMs());
  if (driftMs <= maxClockDriftMs) return ok(topics.clock, checkStrings.clockRight((driftMs / 1_000).toFixed(1)));
  return {
    what: topics.clock,
    status: "warning",
    detail: checkStrings.clockWrong((driftMs / 1_000).toFixed(0)),
  };
}

function ok(what: string, detail: string): Finding {
  return { what, status: "ok", detail };
}

function wrong(what: string, detail: string, thrown: unknown): Finding {
  return { what, status: "wrong", detail, exitCode: thrown instanceof SimfleetError ? thrown.exitCode : 4 };
}
