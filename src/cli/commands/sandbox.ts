/** `simfleet sandbox`: runs the platform simulator until it is interrupted. */
import { once } from "node:events";
import { Command, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { parse } from "csv-parse/sync";
import { load as loadYaml } from "js-yaml";
import { IntakeError, messageOf } from "#core/errors.ts";
import { readFileOnce } from "#core/files/open-file.ts";
import { limitHeapOfCommand } from "#core/process/heap-room.ts";
import type { Coverage } from "#fleet/profile.ts";
import { isSimId } from "#fleet/sim/sim.ts";
import { faultKinds } from "#sandbox/faults.ts";
import { apiGroups, defaultOptions, type GroupSeed, type LimitChange, operationSets } from "#sandbox/options.ts";
import { type Sandbox, startSandbox } from "#sandbox/server.ts";
import { recordShapes } from "#sandbox/sims/sim-records.ts";
import { addExample, oneOf, type ProcessIo } from "../context.ts";

const example = `simfleet sandbox --sims 2000 --limit Sim=300 --fault reset=0.02 --competitor Sim=5
curl -X POST http://127.0.0.1:8787/_sandbox/faults -d '{"next":{"fault":"lost-answer","count":3}}'`;

/** Options that only `--help-all` shows. */
const faultGroup = "Faults:";
const detailGroup = "Details of the platform:";

type SandboxIo = Pick<ProcessIo, "stdout" | "stderr" | "interrupt">;

export function sandboxCommand({ io }: { readonly io: SandboxIo }): Command {
  const command = new Command("sandbox")
    .description("Simulate the platform, to try simfleet without an account")
    .optionsGroup("Fleet:")
    .option("--sims <count>", "number of simulated SIMs", asNumber, 2_000)
    .option("--ids-from <file>", "take the SIM IDs from the column simId of this CSV file")
    .option("--groups-from <file>", "read groups and their configuration from this YAML or JSON file")
    .addOption(choice("--operations <which>", "endpoints to serve: the required ones, or all", operationSets))
    .option("--seed <number>", "seed of records, faults, latencies and page lengths", asNumber, defaultOptions.seed)
    .optionsGroup("Quota:")
    .option(
      "--limit <group=calls>",
      "calls per period, `Sim=300` or `300` for Sim; repeatable",
      perName(apiGroups, "Sim"),
    )
    .option("--period <seconds>", "length of a quota window", asNumber, defaultOptions.periodSeconds)
    .option(
      "--competitor <group=rate>",
      "calls per second that another caller makes; repeatable",
      perName(apiGroups, "Sim"),
    )
    .option("--limit-change <change>", "`Sim=100@30`: another limit after 30 s; repeatable", addLimitChange)
    .optionsGroup("Server:")
    .option("--port <port>", "port to listen on; 0: any free one", asNumber, 8787)
    .option("--host <address>", "address to listen on", defaultOptions.host)
    .option("--json", "print {url, port, environment, …} on stdout once it listens")
    .optionsGroup("Account:")
    .option("--operator-id <id>", "ID of the account", defaultOptions.operatorId)
    .option("--auth-key-id <id>", "ID of the AuthKey", defaultOptions.authKeyId)
    .option("--auth-key <secret>", "secret of the AuthKey", defaultOptions.authKey)
    .option("--root-email <email>", "email address of the Root user", defaultOptions.rootEmail)
    .option("--root-password <password>", "password of the Root user", defaultOptions.rootPassword)
    .option("--user-name <name>", "name of the sub-user", defaultOptions.userName)
    .option("--user-password <password>", "password of the sub-user", defaultOptions.userPassword)
    .option("--user-auth-key-id <id>", "ID of an AuthKey of the sub-user")
    .option("--user-auth-key <secret>", "secret of that AuthKey")
    .option("--mfa-secret <base32>", "require one-time codes of this secret from the Root user and the sub-user")
    .optionsGroup("Form of the platform:")
    .option("--brand <word>", "word in the header names", defaultOptions.brand)
    .addOption(choice("--records <shape>", "shape of SIM records", recordShapes))
    .addOption(choice("--coverage <which>", "coverage to serve", ["both", "g", "jp"]))
    .addOption(choice("--coverage-types <which>", "coverage claims of tokens", ["g", "jp", "both"]))
    .optionsGroup(faultGroup)
    .option(
      "--fault <kind=share>",
      `probability of a fault per call; repeatable; kinds: ${faultKinds.join(", ")}`,
      perName(faultKinds),
    )
    .option("--takes-offline <operation=share>", "share of SIMs that an operation takes offline; repeatable", addShare)
    .option("--faults-on-auth", "inject faults into authentication as well")
    .option("--slow <ms>", "delay of the fault slow", asNumber, defaultOptions.slowMs)
    .option("--latency <ms>", "delay of every response: `20`, or `10-50` for a random one", asLatency)
    .option("--short-pages <share>", "share of pages shorter than requested", asNumber, defaultOptions.shortPages)
    .option("--empty-pages <share>", "share of pages that are empty", asNumber, defaultOptions.emptyPages)
    .option("--hostile-cursors", "return cursors with characters that need percent-encoding")
    .option("--revoke-kills-pairs", "revoking an AuthKey invalidates its pairs of API key and token")
    .optionsGroup(detailGroup)
    .addOption(choice("--rounding <how>", "rounding of seconds-before-refresh", ["up", "down", "nearest"]))
    .addOption(choice("--anchored <where>", "what opens a window", ["start", "first-call"]))
    .option("--window-offset <ms>", "elapsed part of the first window", asNumber, defaultOptions.windowOffsetMs)
    .option("--page-size <count>", "records per page if the call has no limit", asNumber, defaultOptions.pageSize)
    .addOption(choice("--paging <headers>", "headers with the next page", ["both", "link", "key"]))
    .option("--export-delay <ms>", "how long an export of usage takes", asNumber, defaultOptions.exportMs)
    .option("--export-failures <share>", "share of exports that fail", asNumber, defaultOptions.exportFailures)
    .action(async ({ idsFrom, groupsFrom, coverage, coverageTypes, ...rest }) => {
      limitHeapOfCommand();
      const options = {
        ...rest,
        simIds: idsFrom === undefined ? undefined : readSimIds(idsFrom),
        // The options check what the file holds.
        groups: groupsFrom === undefined ? [] : readAs("YAML or JSON", groupsFrom, loadYaml as () => GroupSeed[]),
        serves: toCoverages(coverage),
        coverageTypes: toCoverages(coverageTypes),
        exportMs: rest.exportDelay,
        limits: rest.limit ?? {},
        periodSeconds: rest.period,
        windowOffsetMs: rest.windowOffset,
        competitor: rest.competitor ?? {},
        limitChanges: rest.limitChange ?? [],
        faults: rest.fault ?? {},
        slowMs: rest.slow,
        latencyMs: rest.latency ?? 0,
      };
      const sandbox = await startSandbox(options);
      announce(sandbox, { isJson: rest.json === true, io });
      if (!io.interrupt.aborted) await once(io.interrupt, "abort");
      await sandbox.close();
    });
  addExample(command, example);
  const hidden = command.options.filter(({ helpGroupHeading = "" }) =>
    [faultGroup, detailGroup].includes(helpGroupHeading),
  );
  for (const option of hidden) option.hideHelp();
  return command
    .optionsGroup("Help:")
    .option("--help-all", "show the faults and the details of the platform as well")
    .on("option:help-all", () => {
      for (const option of hidden) option.hideHelp(false);
      command.help();
    });
}

function toCoverages(which: "g" | "jp" | "both"): Coverage[] {
  return which === "both" ? ["g", "jp"] : [which];
}

function announce(sandbox: Sandbox, { isJson, io }: { isJson: boolean; io: SandboxIo }): void {
  const { url, port, options, state } = sandbox;
  const { limits, periodSeconds } = options;
  const sims = state.sims.count;
  const environment = toEnvironment(sandbox);
  const lines = Object.entries(environment).map(([name, value]) => `  export ${name}=${value}`);
  io.stderr.write(
    `The sandbox listens on ${url} with ${sims} SIMs, ${limits.Sim} calls of the group Sim per ${periodSeconds} s.` +
      ` To use it, set\n${lines.join("\n")}\nStop it with Ctrl-C.\n`,
  );
  if (isJson) io.stdout.write(`${JSON.stringify({ url, port, sims, limits, periodSeconds, environment })}\n`);
}

/** The variables with which a worker reaches the sandbox. */
function toEnvironment({ url, options }: Sandbox): Record<string, string> {
  const { authKeyId, authKey, brand, coverageTypes, periodSeconds, serves } = options;
  return {
    ...(serves.includes("g") ? { SIMFLEET_ENDPOINT_GLOBAL: url } : {}),
    ...(serves.includes("jp") && (coverageTypes.includes("jp") || !serves.includes("g"))
      ? { SIMFLEET_ENDPOINT_JAPAN: url }
      : {}),
    SIMFLEET_AUTH_KEY_ID: authKeyId,
    SIMFLEET_AUTH_KEY: authKey,
    SIMFLEET_JWKS_URL: `${url}/.well-known/jwks.json`,
    ...(brand === defaultOptions.brand ? {} : chooseDeployment(brand, serves)),
    ...(periodSeconds === 60 ? {} : { SIMFLEET_RATE_PERIOD_SECONDS: String(periodSeconds) }),
  };
}

/** A built-in platform definition has addresses for both coverages: the one that the sandbox has is chosen. */
function chooseDeployment(brand: string, serves: readonly Coverage[]): Record<string, string> {
  if (brand !== "Soracom") return { SIMFLEET_BRAND: brand };
  const [coverage = "g"] = serves;
  return { SIMFLEET_DEPLOYMENT: "soracom", SIMFLEET_COVERAGE: coverage };
}

/** An option with one of several values; the first is the default. */
function choice<F extends string, const C extends readonly [string, ...string[]]>(flags: F, help: string, choices: C) {
  const [first]: readonly C[number][] = choices;
  return new Option(flags, help).choices(choices).default(first);
}

// What the values of the options are read as.

/** The sandbox keeps everything in memory. */
const maxSeedBytes = 512 * 1_048_576;

/** The well-formed ids of a file's simId column, each once. */
function readSimIds(file: string): string[] {
  const options = { bom: true, relax_column_count: true, trim: true } as const;
  const [header, ...rows] = readAs("CSV", file, (text) => parse(text, options));
  const column = header?.findIndex((name) => name.toLowerCase().replaceAll(/[\s_]/g, "") === "simid") ?? -1;
  if (column < 0) throw new IntakeError(`${file} has no column simId; the sandbox takes its SIMs from there.`);
  return [...new Set(rows.map((row) => row[column] ?? ""))].filter(isSimId);
}

function readAs<T>(format: string, file: string, parsed: (text: string) => T): T {
  try {
    return parsed(readFileOnce(file, { links: "follow", maxBytes: maxSeedBytes }).bytes.toString("utf8"));
  } catch (cause) {
    throw new IntakeError(`${file} cannot be read as ${format}: ${messageOf(cause)}`, { cause });
  }
}

function asNumber(text: string): number {
  const number = text.trim() === "" ? Number.NaN : Number(text);
  if (!Number.isFinite(number)) throw new InvalidArgumentError("It must be a number.");
  return number;
}

function asLatency(text: string): number | readonly [number, number] {
  const [min = "", max, ...rest] = text.split("-");
  if (rest.length > 0) throw new InvalidArgumentError("It must be milliseconds, `20` or `10-50`.");
  return max === undefined ? asNumber(min) : [asNumber(min), asNumber(max)];
}

/** Reads `name=number` for several of these names. @param usual the name of a number alone */
function perName<Name extends string>(names: readonly Name[], usual = "") {
  return (text: string, before: Partial<Record<Name, number>> = {}): Partial<Record<Name, number>> => {
    const [name = "", value] = text.includes("=") || usual === "" ? text.split("=", 2) : [usual, text];
    if (value === undefined) throw new InvalidArgumentError(`It must be a name and a number, such as ${names[0]}=1.`);
    return { ...before, [oneOf(name, names)]: asNumber(value) };
  };
}

function addLimitChange(text: string, before: LimitChange[] = []): LimitChange[] {
  const [, name, limit, seconds] = /^(\w+)=(\d+)@(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  if (name === undefined) throw new InvalidArgumentError("It must be GROUP=LIMIT@SECONDS, such as Sim=100@30.");
  return [...before, { group: oneOf(name, apiGroups), limit: Number(limit), afterMs: Number(seconds) * 1_000 }];
}

function addShare(text: string, before: Readonly<Record<string, number>> = {}): Record<string, number> {
  const [operation = "", share = ""] = text.split("=", 2);
  return { ...before, [operation]: asNumber(share) };
}
