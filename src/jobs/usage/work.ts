/**
 * Reads the usage of a fleet: has the platform export the current month and day, waits for the files, adds them up, and
 * replaces the usage in the inventory; then it compares the thresholds. It makes two calls for the exports, and three at most
 * to ask for them. Nothing is changed before both files were read whole, and what is repeated after a crash has no effect.
 */
import type { Account } from "#api/account.ts";
import type { Operation } from "#api/operations/operation.ts";
import { IntakeError, PlatformError } from "#core/errors.ts";
import { type Clock, dayMs, minuteMs, secondMs } from "#core/time.ts";
import type { StoreDeps } from "#engine/move-record.ts";
import { inventoryOf } from "#engine/sharing.ts";
import { emitScriptPart } from "#events/feed.ts";
import type { DeploymentOperation } from "#fleet/deployment-operation.ts";
import { type KeyColumn, keyColumnOf } from "#fleet/sim/sim.ts";
import type { Inventory } from "#jobs/inventory/store/inventory.ts";
import { type UsagePeriod, usagePeriods, writeUsage } from "#jobs/inventory/store/usage.ts";
import { Script } from "#redis/script.ts";
import type { Threshold } from "./config.ts";
import { type DownloadDeps, download, exportUsage, getExportedFile } from "./export.ts";
import { type SimsByImsi, imsiNumber, placeIn, sumExport } from "./tally.ts";

/** One sync of the usage, and what it needs. */
interface UsageSync extends StoreDeps, Omit<DownloadDeps, "isLocal"> {
  readonly profile: string;
  readonly syncId: string;
  readonly startedAtMs: number;
  readonly clock: Clock;
  readonly inventory: Inventory;
  readonly thresholds: readonly Threshold[];
  readonly accountFor: (profile: string) => Account;
  readonly operations: () => Record<"exportUsage" | "getExportedFile", DeploymentOperation>;
  readonly isLocal: (profile: string) => boolean;
}

const crossScript = Script.load(emitScriptPart, new URL("./cross.lua", import.meta.url));
const maxCalls = 5;
const firstWaitMs = 5 * secondMs;
/** After the first question for an export. */
const longWaitMs = 5 * minuteMs;

/** @throws IntakeError for a bad export; PlatformError; ConfigError; the signal's reason */
export async function readUsage(sync: UsageSync) {
  const { profile, startedAtMs, clock, signal } = sync;
  const operation = getExportedFile(sync.operations().getExportedFile);
  const files = await startExports(sync);
  let [calls, waitMs] = [2, firstWaitMs];
  const addressOf = async (period: UsagePeriod): Promise<string> => {
    for (; ; waitMs = longWaitMs) {
      await clock.sleep(waitMs, signal);
      const { status, url } = await callInTurn(sync, operation, { id: files[period] });
      calls += 1;
      if (status === "exported" && url) return url;
      // The export of the day needs a question, too.
      const isLast = calls >= maxCalls - (period === "month" ? 1 : 0);
      if (status === "processing" && !isLast) continue;
      const what = status === "processing" ? "did not finish the export in time" : "failed to make the export";
      const message = `The platform ${what}: usage of the ${period}. Nothing was changed; try again later.`;
      throw new PlatformError("PLATFORM_RESPONSE_INVALID", message, { operation: operation.id });
    }
  };
  const sumsOf = async (period: UsagePeriod) => {
    const { date } = periodAt(period, startedAtMs);
    const deps = { ...sync, isLocal: sync.isLocal(profile) };
    return download(await addressOf(period), deps, (file) => sumExport(file, sims, date, signal));
  };
  const sims = await simsByImsi(sync.inventory, profile, keyColumnOf(sync.accountFor(profile).wording));
  const month = await sumsOf("month");
  // Both were ordered together.
  waitMs = 0;
  const sums = { month, day: await sumsOf("day") };
  const name = await inventoryOf(sync, profile);
  for (const period of usagePeriods) {
    await writeUsage(sync, name, { period, values: sums[period].bytes, ...periodAt(period, startedAtMs) });
  }
  let crossed = 0;
  for (const one of sync.thresholds) crossed += await compare(one, sums[one.per].bytes, name, sync);
  return { calls, sims: month.sims, unknown: month.unknown, crossed };
}

/** The day or month of an instant: its name, as files and as people have it, its start and its end. */
function periodAt(period: UsagePeriod, atMs: number) {
  const at = new Date(atMs);
  const isDay = period === "day";
  const fromMs = Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), isDay ? at.getUTCDate() : 1);
  const endMs = isDay ? fromMs + dayMs : Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1);
  const name = at.toISOString().slice(0, isDay ? 10 : 7);
  return { name, date: name.replaceAll("-", ""), fromMs, endMs };
}

/** Has the month and the day exported. @returns the IDs of the files */
async function startExports(sync: UsageSync) {
  const { profile, startedAtMs, operations, hosts, inventory, accountFor, signal } = sync;
  const { client, selection, identify, wording } = accountFor(profile);
  const operation = exportUsage(operations().exportUsage);
  if (hosts.length === 0) {
    throw new IntakeError("downloads.hosts of the platform definition is empty: add the hosts of exported files.");
  }
  if (wording === "sims" && !selection.fields.includes("imsi")) {
    throw new IntakeError("inventory.fields has no imsi, by which the export names SIMs: add it, and sync the SIMs.");
  }
  await identify?.(signal);
  if (!(await inventory.facts(profile)).isComplete) {
    throw new IntakeError("The inventory has not been synced yet; run: simfleet sims sync");
  }
  const { operatorId } = await client.whoAmI(signal);
  const ordered = async (period: UsagePeriod): Promise<string> => {
    const from = periodAt(period, startedAtMs).fromMs / secondMs;
    // At midnight, the day has no length yet.
    const to = Math.max(from + 1, Math.floor(startedAtMs / secondMs));
    return (await callInTurn(sync, operation, { operatorId, period, from, to })).exportedFileId;
  };
  return { month: await ordered("month"), day: await ordered("day") };
}

/** Makes a call; while the quota is spent, it waits. @throws as `PlatformClient.call` */
async function callInTurn<I, O>(sync: UsageSync, operation: Operation<I, O>, input: I): Promise<O> {
  const { profile, accountFor, clock, signal } = sync;
  for (;;) {
    try {
      return await accountFor(profile).client.call(operation, input, { signal });
    } catch (thrown) {
      if (!(thrown instanceof PlatformError) || thrown.code !== "PLATFORM_RATE_LIMITED") throw thrown;
      await clock.sleep(thrown.retryAfterMs ?? secondMs, signal);
    }
  }
}

/** The SIMs of the inventory in the order of their IMSIs. */
async function simsByImsi(inventory: Inventory, profile: string, keyColumn: KeyColumn): Promise<SimsByImsi> {
  // Grows in place: copies of it would add up to twice its size.
  const buffer = new ArrayBuffer(0, { maxByteLength: 2 ** 30 });
  const imsis = new Float64Array(buffer);
  for await (const found of inventory.imsis(profile, keyColumn)) {
    const [last = -1] = found.at(-1) ?? [];
    if (last >= imsis.length) buffer.resize((last + 1) * imsis.BYTES_PER_ELEMENT);
    for (const [ordinal, imsi] of found) imsis[ordinal] = imsiNumber(imsi);
  }
  const sorted = imsis.toSorted();
  const ordinals = new Int32Array(sorted.length);
  for (let at = 0; at < imsis.length; at += 1) ordinals[placeIn(sorted, imsis[at] ?? 0)] = at;
  buffer.resize(0);
  return { imsis: sorted, ordinals };
}

/**
 * Emits an event for each SIM that has crossed a threshold since it was compared last.
 * @param values bytes by ordinal
 * @returns how many
 */
async function compare(
  { name: threshold, where, over, per }: Threshold,
  values: Float64Array,
  inventoryName: string,
  { profile, syncId, startedAtMs, redis, keys, bounds, inventory, accountFor }: UsageSync,
): Promise<number> {
  const keyColumn = keyColumnOf(accountFor(profile).wording);
  const period = periodAt(per, startedAtMs);
  const reported = keys.of("sims", inventoryName, "usage-crossed", threshold, period.name);
  const marks = await redis.getBuffer(reported);
  const head = [profile, bounds.maxEvents, period.endMs + dayMs, threshold, per, period.name, over, syncId];
  const isNew = (at: number): boolean =>
    (values[at] ?? 0) > over && ((marks?.[at >> 3] ?? 0) & (128 >> (at & 7))) === 0;
  let crossed = 0;
  for await (const found of inventory.find(profile, where, { keyColumn })) {
    const sims = found.flatMap(({ key, ordinal }) => (isNew(ordinal) ? [ordinal, key, values[ordinal] ?? 0] : []));
    if (sims.length === 0) continue;
    crossed += Number(await crossScript.run(redis, [keys.events(), reported], [...head, ...sims]));
  }
  return crossed;
}
