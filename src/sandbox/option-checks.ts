/** Applies the defaults of the options and validates them, reporting all problems at once. */
import { ConfigError, type Problem } from "#core/errors.ts";
import { isSimId } from "#fleet/sim/sim.ts";
import { isSpeedClass } from "#fleet/sim/speed-class.ts";
import { keyAccesses } from "./accounts/accounts.ts";
import { problemsOfRates } from "./faults.ts";
import { isBase32 } from "./accounts/one-time-code.ts";
import { defaultOptions, type SandboxOptions } from "./options.ts";
import { recordShapes } from "./sims/sim-records.ts";
import { operationSets } from "./state.ts";
import { apiGroups, defaultLimits } from "./throttle.ts";

type Check = readonly [holds: boolean, where: keyof SandboxOptions, message: string];

/** The options with their defaults. @throws ConfigError with every invalid option */
export function resolveOptions(given: Partial<SandboxOptions>): SandboxOptions {
  const options = { ...defaultOptions, ...given, limits: { ...defaultLimits, ...given.limits } };
  const problems: Problem[] = [...serverChecks(options), ...accountChecks(options), ...quotaChecks(options)]
    .filter(([holds]) => !holds)
    .map(([, where, message]) => ({ where, message }));
  problems.push(...problemsOfRates(options.faults).map((message) => ({ where: "faults", message })));
  if (problems.length > 0) throw new ConfigError(problems);
  return options;
}

function serverChecks(options: SandboxOptions): Check[] {
  const simIds = options.simIds ?? [];
  const groupIds = options.groups.map(({ groupId }) => groupId);
  const latencies = [options.latencyMs].flat();
  const isOrdered = latencies.every((latency, i) => isBetween(latency, latencies[i - 1] ?? 0, 3_600_000));
  return [
    [isCount(options.port) && options.port <= 65_535, "port", "must be a whole number from 0 to 65535"],
    [/^[A-Za-z][A-Za-z0-9]*$/.test(options.brand), "brand", "must be one word of letters and digits"],
    [Number.isSafeInteger(options.seed), "seed", "must be a whole number"],
    [isCount(options.sims) && options.sims <= 1e8, "sims", "must be a whole number from 0 to 100000000"],
    [simIds.every(isSimId), "simIds", "must be IDs of letters, digits, `-` and `_`, 64 at most"],
    [new Set(simIds).size === simIds.length, "simIds", "must not name a SIM twice"],
    [isBetween(options.speedClasses.length, 1, 255), "speedClasses", "must name 1 to 255 classes"],
    [options.speedClasses.every(isSpeedClass), "speedClasses", "must be names such as s1.fast"],
    [recordShapes.includes(options.records), "records", `must be ${recordShapes.join(" or ")}`],
    [isCount(options.pageSize) && options.pageSize > 0, "pageSize", "must be a whole number, 1 or more"],
    [isCount(options.maxPageSize), "maxPageSize", "must be a whole number"],
    [options.maxPageSize >= options.pageSize, "maxPageSize", "must not be below pageSize"],
    [isBetween(options.shortPages, 0, 1), "shortPages", "must be a share from 0 to 1"],
    [isBetween(options.emptyPages, 0, 1), "emptyPages", "must be a share from 0 to 1"],
    [operationSets.includes(options.operations), "operations", `must be ${operationSets.join(" or ")}`],
    [groupIds.every((id) => /^[^/]{1,100}$/.test(id)), "groups", "must have IDs of 1 to 100 characters without `/`"],
    [new Set(groupIds).size === groupIds.length, "groups", "must not name a group twice"],
    [[200, 201].includes(options.createdStatus), "createdStatus", "must be 200 or 201"],
    [isCount(options.maxBodyBytes), "maxBodyBytes", "must be a whole number of bytes"],
    [isOrdered && isBetween(latencies.length, 1, 2), "latencyMs", "must be 0 or more, the least before the most"],
    [isBetween(options.slowMs, 0, 86_400_000), "slowMs", "must be from 0 to a day"],
  ];
}

function accountChecks(options: SandboxOptions): Check[] {
  const { rootMfaSecret, userMfaSecret, pairTtlSeconds, userAuthKeyId, userAuthKey } = options;
  const base32 = "must be base32: letters A to Z and digits 2 to 7";
  return [
    [options.serves.length > 0, "serves", "must name g, jp or both"],
    [rootMfaSecret === undefined || isBase32(rootMfaSecret), "rootMfaSecret", base32],
    [userMfaSecret === undefined || isBase32(userMfaSecret), "userMfaSecret", base32],
    [
      (userAuthKeyId === undefined) === (userAuthKey === undefined),
      "userAuthKey",
      "needs userAuthKeyId, and vice versa",
    ],
    [userAuthKeyId !== options.authKeyId, "userAuthKeyId", "must not be the ID of the Root user's AuthKey"],
    [keyAccesses.includes(options.userKeyAccess), "userKeyAccess", `must be ${keyAccesses.join(" or ")}`],
    [pairTtlSeconds === undefined || isAboveZero(pairTtlSeconds), "pairTtlSeconds", "must be above 0"],
    [options.ttlField !== "", "ttlField", "must not be empty"],
  ];
}

function quotaChecks(options: SandboxOptions): Check[] {
  const { limits, competitor, limitChanges } = options;
  const groups: readonly string[] = apiGroups;
  const known = `unknown API group; known: ${groups.join(", ")}`;
  return [
    [Object.keys(limits).every((group) => groups.includes(group)), "limits", known],
    [Object.values(limits).every(isCount), "limits", "must be whole numbers, 0 or more"],
    [isAboveZero(options.periodSeconds), "periodSeconds", "must be above 0"],
    [isBetween(options.windowOffsetMs, 0, Number.MAX_SAFE_INTEGER), "windowOffsetMs", "must be 0 or more"],
    [Object.keys(competitor).every((group) => groups.includes(group)), "competitor", known],
    [
      Object.values(competitor).every((rate) => isBetween(rate, 0, 10_000)),
      "competitor",
      "must be from 0 to 10000 calls per second",
    ],
    [limitChanges.every(({ limit }) => isCount(limit)), "limitChanges", "must be whole limits, 0 or more"],
    [limitChanges.every(({ afterMs }) => afterMs >= 0), "limitChanges", "must lie in the future"],
  ];
}

function isBetween(value: number, least: number, most: number): boolean {
  return value >= least && value <= most;
}

function isAboveZero(value: number): boolean {
  return value > 0 && value < Infinity;
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
