/** `simfleet sandbox`: runs the platform simulator until it is interrupted. */
import { once } from "node:events";
import { Command, Option } from "@commander-js/extra-typings";
import { keepHeapSmall } from "#core/heap-room.ts";
import type { Coverage } from "#fleet/profile.ts";
import { keyAccesses } from "#sandbox/accounts/accounts.ts";
import { faultKinds } from "#sandbox/faults.ts";
import { defaultOptions } from "#sandbox/options.ts";
import { recordShapes } from "#sandbox/sims/sim-records.ts";
import { type Sandbox, startSandbox } from "#sandbox/server.ts";
import { operationSets } from "#sandbox/state.ts";
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
import { sandboxStrings } from "./strings.ts";
import { programStrings } from "../strings.ts";

const example = `
${programStrings.example}
  simfleet sandbox --sims 2000 --limit Sim=300 --fault reset=0.02 --competitor Sim=5
  curl -X POST http://127.0.0.1:8787/_sandbox/faults -d '{"next":{"fault":"lost-answer","count":3}}'`;

type SandboxIo = Pick<ProcessIo, "stdout" | "stderr" | "interrupt">;

export function sandboxCommand({ io }: { readonly io: SandboxIo }): Command {
  const command = new Command("sandbox")
    .description(sandboxStrings.description)
    .addHelpText("after", example)
    .option("--port <port>", sandboxStrings.port, asNumber, 8787)
    .option("--host <address>", sandboxStrings.host, defaultOptions.host)
    .option("--brand <word>", sandboxStrings.brand, defaultOptions.brand)
    .option("--seed <number>", sandboxStrings.seed, asNumber, defaultOptions.seed)
    .option("--sims <count>", sandboxStrings.sims, asNumber, 2_000)
    .option("--ids-from <file>", sandboxStrings.idsFrom)
    .option("--speed-classes <list>", sandboxStrings.speedClasses, asList, [...defaultOptions.speedClasses])
    .addOption(new Option("--records <shape>", sandboxStrings.records).choices(recordShapes).default("svc" as const))
    .addOption(new Option("--coverage <which>", sandboxStrings.coverage).choices(["g", "jp", "both"]).default("both"))
    .addOption(new Option("--coverage-types <which>", sandboxStrings.coverageTypes).choices(["g", "jp", "both"]))
    .option("--japan-port <port>", sandboxStrings.japanPort, asNumber)
    .addOption(new Option("--language <language>", sandboxStrings.language).choices(["en", "ja"]).default("en"))
    .option("--operator-id <id>", sandboxStrings.operatorId, defaultOptions.operatorId)
    .option("--root-email <email>", sandboxStrings.rootEmail, defaultOptions.rootEmail)
    .option("--root-password <password>", sandboxStrings.rootPassword, defaultOptions.rootPassword)
    .option("--user-name <name>", sandboxStrings.userName, defaultOptions.userName)
    .option("--user-password <password>", sandboxStrings.userPassword, defaultOptions.userPassword)
    .option("--auth-key-id <id>", sandboxStrings.authKeyId, defaultOptions.authKeyId)
    .option("--auth-key <secret>", sandboxStrings.authKey, defaultOptions.authKey)
    .option("--user-auth-key-id <id>", sandboxStrings.userAuthKeyId)
    .option("--user-auth-key <secret>", sandboxStrings.userAuthKey)
    .addOption(
      new Option("--user-key-access <which>", sandboxStrings.userKeyAccess)
        .choices(keyAccesses)
        .default("own" as const),
    )
    .option("--revoke-kills-pairs", sandboxStrings.revokeKillsPairs, false)
    .option("--mfa-secret <base32>", sandboxStrings.mfaSecret)
    .option("--ttl-field <name>", sandboxStrings.ttlField, defaultOptions.ttlField)
    .option("--pair-ttl <seconds>", sandboxStrings.pairTtl, asNumber)
    .addOption(
      new Option("--token-algorithm <name>", sandboxStrings.tokenAlgorithm)
        .choices(["ES256", "RS256"])
        .default("ES256"),
    )
    .option("--page-size <count>", sandboxStrings.pageSize, asNumber, defaultOptions.pageSize)
    .option("--max-page-size <count>", sandboxStrings.maxPageSize, asNumber, defaultOptions.maxPageSize)
    .addOption(new Option("--paging <headers>", sandboxStrings.paging).choices(["both", "link", "key"]).default("both"))
    .option("--hostile-cursors", sandboxStrings.hostileCursors, false)
    .option("--short-pages <share>", sandboxStrings.shortPages, asNumber, defaultOptions.shortPages)
    .option("--empty-pages <share>", sandboxStrings.emptyPages, asNumber, defaultOptions.emptyPages)
    .addOption(
      new Option("--operations <which>", sandboxStrings.operations)
        .choices(operationSets)
        .default("interface" as const),
    )
    .option("--groups-from <file>", sandboxStrings.groupsFrom)
    .option("--created-status <status>", sandboxStrings.createdStatus, asNumber, defaultOptions.createdStatus)
    .option("--max-body <bytes>", sandboxStrings.maxBody, asNumber, defaultOptions.maxBodyBytes)
    .option("--limit <group=calls>", sandboxStrings.limit, addPerGroup)
    .option("--period <seconds>", sandboxStrings.period, asNumber, defaultOptions.periodSeconds)
    .addOption(new Option("--rounding <how>", sandboxStrings.rounding).choices(["up", "down", "nearest"]).default("up"))
    .addOption(
      new Option("--anchored <where>", sandboxStrings.anchored).choices(["start", "first-call"]).default("start"),
    )
    .option("--window-offset <ms>", sandboxStrings.windowOffset, asNumber, defaultOptions.windowOffsetMs)
    .option("--competitor <group=rate>", sandboxStrings.competitor, addPerGroup)
    .option("--limit-change <change>", sandboxStrings.limitChange, addLimitChange)
    .option("--fault <kind=share>", sandboxStrings.fault(faultKinds), addFault)
    .option("--faults-on-auth", sandboxStrings.faultsOnAuth, false)
    .option("--slow <ms>", sandboxStrings.slow, asNumber, defaultOptions.slowMs)
    .option("--latency <ms>", sandboxStrings.latency, asLatency)
    .option("--json", sandboxStrings.json, false)
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
    sandboxStrings.listens(url, state.sims.count),
    japan === undefined ? "" : sandboxStrings.listensInJapan(japan.url, japan.state.sims.count),
    sandboxStrings.quota(options.limits.Sim, options.periodSeconds),
    sandboxStrings.howToUse(lines),
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
