/** `simfleet sandbox`: runs the platform simulator until it is interrupted. */
import { once } from "node:events";
import { Command, Option } from "@commander-js/extra-typings";
import { keepHeapSmall } from "#core/heap-room.ts";
import type { Coverage } from "#fleet/profile.ts";

import { faultKinds } from "#sandbox/faults.ts";
import { defaultOptions, keyAccesses, operationSets } from "#sandbox/options.ts";
import { recordShapes } from "#sandbox/sims/sim-records.ts";
import { type Sandbox, startSandbox } from "#sandbox/server.ts";

import {
  addFault,
  addLimitChange,
  addPerGroup,
  asLatency,
  asList,
  asNumber,
  readGroups,
  readSimIds,
} from "./sandbox-values.ts";
import type { ProcessIo } from "../context.ts";

const example = `
Example:
  simfleet sandbox --sims 2000 --limit Sim=300 --fault reset=0.02 --competitor Sim=5
  curl -X POST http://127.0.0.1:8787/_sandbox/faults -d '{"next":{"fault":"lost-answer","count":3}}'`;

type SandboxIo = Pick<ProcessIo, "stdout" | "stderr" | "interrupt">;

export function sandboxCommand({ io }: { readonly io: SandboxIo }): Command {
  const command = new Command("sandbox")
    .description("simulate the platform, to try simfleet without an account")
    .addHelpText("after", example)
    .option("--port <port>", "port to listen on; 0: any free one", asNumber, 8787)
    .option("--host <address>", "address to listen on", defaultOptions.host)
    .option("--brand <word>", "word in the header names", defaultOptions.brand)
    .option("--seed <number>", "seed of records, faults, latencies and page lengths", asNumber, defaultOptions.seed)
    .option("--sims <count>", "number of simulated SIMs", asNumber, 2_000)
    .option("--ids-from <file>", "take the SIM IDs from the column simId of this CSV file")
    .option("--speed-classes <list>", "speed classes that a SIM can have", asList, [...defaultOptions.speedClasses])
    .addOption(new Option("--records <shape>", "shape of SIM records").choices(recordShapes).default("svc" as const))
    .addOption(new Option("--coverage <which>", "coverage to serve").choices(["g", "jp", "both"]).default("both"))
    .addOption(
      new Option("--coverage-types <which>", "coverage claims of tokens (default: g)").choices(["g", "jp", "both"]),
    )
    .option("--japan-port <port>", "serve Japan coverage at a second address, with SIMs of its own", asNumber)
    .addOption(new Option("--language <language>", "default language of messages").choices(["en", "ja"]).default("en"))
    .option("--operator-id <id>", "ID of the account", defaultOptions.operatorId)
    .option("--root-email <email>", "email address of the Root user", defaultOptions.rootEmail)
    .option("--root-password <password>", "password of the Root user", defaultOptions.rootPassword)
    .option("--user-name <name>", "name of the sub-user", defaultOptions.userName)
    .option("--user-password <password>", "password of the sub-user", defaultOptions.userPassword)
    .option("--auth-key-id <id>", "ID of the AuthKey", defaultOptions.authKeyId)
    .option("--auth-key <secret>", "secret of the AuthKey", defaultOptions.authKey)
    .option("--user-auth-key-id <id>", "ID of an AuthKey of the sub-user")
    .option("--user-auth-key <secret>", "secret of that AuthKey")
    .addOption(
      new Option("--user-key-access <which>", "AuthKeys that the sub-user may manage")
        .choices(keyAccesses)
        .default("own" as const),
    )
    .option("--revoke-kills-pairs", "revoking an AuthKey invalidates its pairs of API key and token", false)
    .option("--mfa-secret <base32>", "require one-time codes of this secret from the Root user and the sub-user")
    .option("--ttl-field <name>", "field of /v1/auth that asks for a lifetime", defaultOptions.ttlField)
    .option("--pair-ttl <seconds>", "lifetime of every pair of API key and token, ignoring requests", asNumber)
    .addOption(
      new Option("--token-algorithm <name>", "algorithm of token signatures")
        .choices(["ES256", "RS256"])
        .default("ES256"),
    )
    .option("--page-size <count>", "records per page if the call has no limit", asNumber, defaultOptions.pageSize)
    .option("--max-page-size <count>", "maximum number of records per page", asNumber, defaultOptions.maxPageSize)
    .addOption(
      new Option("--paging <headers>", "headers with the next page").choices(["both", "link", "key"]).default("both"),
    )
    .option("--hostile-cursors", "return cursors with characters that need percent-encoding", false)
    .option("--short-pages <share>", "share of pages shorter than requested", asNumber, defaultOptions.shortPages)
    .option("--empty-pages <share>", "share of pages that are empty", asNumber, defaultOptions.emptyPages)
    .addOption(
      new Option("--operations <which>", "operations to serve: those of the specification, or all")
        .choices(operationSets)
        .default("interface" as const),
    )
    .option("--groups-from <file>", "read groups and their configuration from this YAML or JSON file")
    .option("--created-status <status>", "status of a created Credential Set", asNumber, defaultOptions.createdStatus)
    .option("--max-body <bytes>", "maximum size of a request body", asNumber, defaultOptions.maxBodyBytes)
    .option("--limit <group=calls>", "calls per period, `Sim=300` or `300` for Sim; repeatable", addPerGroup)
    .option("--period <seconds>", "length of a quota window", asNumber, defaultOptions.periodSeconds)
    .addOption(
      new Option("--rounding <how>", "rounding of seconds-before-refresh")
        .choices(["up", "down", "nearest"])
        .default("up"),
    )
    .addOption(
      new Option("--anchored <where>", "what opens a window").choices(["start", "first-call"]).default("start"),
    )
    .option("--window-offset <ms>", "elapsed part of the first window", asNumber, defaultOptions.windowOffsetMs)
    .option("--competitor <group=rate>", "calls per second that another caller makes; repeatable", addPerGroup)
    .option("--limit-change <change>", "`Sim=100@30`: another limit after 30 s; repeatable", addLimitChange)
    .option(
      "--fault <kind=share>",
      `probability of a fault per call; repeatable; kinds: ${faultKinds.join(", ")}`,
      addFault,
    )
    .option("--faults-on-auth", "inject faults into authentication as well", false)
    .option("--slow <ms>", "delay of the fault slow", asNumber, defaultOptions.slowMs)
    .option("--latency <ms>", "delay of every response: `20`, or `10-50` for a random one", asLatency)
    .option("--json", "print {url, port, environment, …} on stdout once it listens", false)
    .action(async ({ idsFrom, groupsFrom, coverage, coverageTypes, japanPort, maxBody, ...rest }) => {
      keepHeapSmall();
      const isTwofold = japanPort !== undefined;
      const options = {
        ...rest,
        simIds: idsFrom === undefined ? undefined : readSimIds(idsFrom),
        groups: groupsFrom === undefined ? [] : readGroups(groupsFrom),
        serves: isTwofold ? coveragesOf("g") : coveragesOf(coverage),
        coverageTypes: coveragesOf(coverageTypes ?? (isTwofold ? "both" : "g")),
        rootMfaSecret: rest.mfaSecret,
        userMfaSecret: rest.mfaSecret,
        pairTtlSeconds: rest.pairTtl,
        maxBodyBytes: maxBody,
        limits: rest.limit ?? {},
        periodSeconds: rest.period,
        windowOffsetMs: rest.windowOffset,
        competitor: rest.competitor ?? {},
        limitChanges: rest.limitChange ?? [],
        faults: rest.fault ?? {},
        slowMs: rest.slow,
        latencyMs: rest.latency ?? 0,
      };
      await runUntilInterrupted(options, { japanPort, isJson: rest.json, io });
    });
  return command;
}

async function runUntilInterrupted(
  options: Parameters<typeof startSandbox>[0],
  { japanPort, isJson, io }: { japanPort: number | undefined; isJson: boolean; io: SandboxIo },
): Promise<void> {
  const sandbox = await startSandbox(options);
  const japan = japanPort === undefined ? undefined : await startBeside(sandbox, japanPort);
  announce({ sandbox, japan }, { isJson, io });
  await aborted(io.interrupt);
  await Promise.all([sandbox.close(), japan?.close()]);
}

/** A second address for the same account, with Japan coverage and made-up SIMs of its own. */
async function startBeside(sandbox: Sandbox, port: number): Promise<Sandbox> {
  const { options, accounts } = sandbox;
  try {
    return await startSandbox({
      ...options,
      accounts,
      port,
      serves: ["jp"],
      seed: options.seed + 1,
      simIds: undefined,
    });
  } catch (thrown) {
    await sandbox.close();
    throw thrown;
  }
}

function coveragesOf(which: "g" | "jp" | "both"): Coverage[] {
  return which === "both" ? ["g", "jp"] : [which];
}

interface Addresses {
  readonly sandbox: Sandbox;
  readonly japan: Sandbox | undefined;
}

function announce({ sandbox, japan }: Addresses, { isJson, io }: { isJson: boolean; io: SandboxIo }): void {
  const { url, port, options, state } = sandbox;
  const environment = environmentOf({ sandbox, japan });
  const lines = Object.entries(environment).map(([name, value]) => `  export ${name}=${value}`);
  const parts = [
    `The sandbox listens on ${url} with ${state.sims.count} SIMs`,
    japan === undefined ? "" : ` and, for Japan coverage, on ${japan.url} with ${japan.state.sims.count}`,
    `, ${options.limits.Sim} calls of the group Sim per ${options.periodSeconds} s.`,
    ` To use it, set\n${lines.join("\n")}\nStop it with Ctrl-C.`,
  ];
  io.stderr.write(`${parts.join("")}\n`);
  if (isJson) {
    const facts = {
      url,
      port,
      ...(japan === undefined ? {} : { japanUrl: japan.url }),
      sims: state.sims.count,
      limits: options.limits,
      periodSeconds: options.periodSeconds,
    };
    io.stdout.write(`${JSON.stringify({ ...facts, environment })}\n`);
  }
}

/** The variables with which a worker reaches the sandbox. */
function environmentOf({ sandbox: { url, options }, japan }: Addresses): Record<string, string> {
  const { authKeyId, authKey, brand, coverageTypes, periodSeconds, serves } = options;
  return {
    ...(serves.includes("g") ? { SIMFLEET_ENDPOINT_GLOBAL: url } : {}),
    ...(serves.includes("jp") && (coverageTypes.includes("jp") || !serves.includes("g"))
      ? { SIMFLEET_ENDPOINT_JAPAN: url }
      : {}),
    ...(japan === undefined ? {} : { SIMFLEET_ENDPOINT_JAPAN: japan.url }),
    SIMFLEET_AUTH_KEY_ID: authKeyId,
    SIMFLEET_AUTH_KEY: authKey,
    SIMFLEET_JWKS_URL: `${url}/.well-known/jwks.json`,
    ...(brand === defaultOptions.brand ? {} : deploymentOf(brand, serves)),
    ...(periodSeconds === 60 ? {} : { SIMFLEET_RATE_PERIOD_SECONDS: String(periodSeconds) }),
  };
}

/** A deployment that comes with simfleet has addresses for both coverages: the one that the sandbox has is chosen. */
function deploymentOf(brand: string, serves: readonly Coverage[]): Record<string, string> {
  if (brand !== "Soracom") return { SIMFLEET_BRAND: brand };
  const [coverage = "g"] = serves;
  return { SIMFLEET_DEPLOYMENT: "soracom", SIMFLEET_COVERAGE: coverage };
}

function aborted(signal: AbortSignal): Promise<unknown> {
  return signal.aborted ? Promise.resolve() : once(signal, "abort");
}
