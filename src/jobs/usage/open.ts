/**
 * Reads the usage of a fleet: has the platform export the current month and day, waits for the files, adds them up, and
 * replaces the usage in the inventory; then it compares the thresholds. It makes two calls for the exports, and three
 * at most to ask for them. Nothing changes before both files were read whole; a repetition after a crash has no effect.
 */
import type { Operation } from "#api/operations/operation.ts";
import { IntakeError, messageOf, PlatformError } from "#core/errors.ts";
import { dayMs, minuteMs, secondMs } from "#core/time.ts";
import { inventoryOf } from "#engine/sharing.ts";
import { emitScriptPart } from "#events/feed.ts";
import type { DeploymentOperation } from "#fleet/deployment-operation.ts";
import { type KeyColumn, isImsi, keyColumnOf } from "#fleet/sim/sim.ts";
import type { Inventory } from "#jobs/inventory/store/inventory.ts";
import { type UsagePeriod, usagePeriods, writeUsage } from "#jobs/inventory/store/usage.ts";
import { Script } from "#redis/script.ts";
import type { Threshold } from "./config.ts";
import { type DownloadOptions, download, exportUsage, getExportedFile } from "./export.ts";
import type { Readable } from "node:stream";
import { openCsv } from "#intake/csv.ts";
import { requirePlatform } from "#config/config.ts";
import { endpoint } from "#contract/route.ts";
import { isLoopback } from "#core/loopback.ts";
import { requireOperations } from "#fleet/required-operation.ts";
import type { OpenInventory } from "#jobs/inventory/service.ts";
import { newWorkId } from "#engine/record.ts";
import type { RouteHost } from "#kernel/feature.ts";
import type { Kernel } from "#kernel/kernel.ts";
import * as routes from "./contract.ts";

interface UsageSync extends Pick<Kernel, "redis" | "keys" | "bounds" | "clock" | "account">, DownloadOptions {
  readonly profile: string;
  readonly syncId: string;
  readonly startedAtMs: number;
  readonly inventory: Inventory;
  readonly thresholds: readonly Threshold[];
  readonly operations: () => Record<"exportUsage" | "getExportedFile", DeploymentOperation>;
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
  const pollAddress = async (period: UsagePeriod): Promise<string> => {
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
  const downloadSums = async (period: UsagePeriod) => {
    const { date } = periodAt(period, startedAtMs);
    return download(await pollAddress(period), sync, (file) => sumExport(file, sims, date, signal));
  };
  const sims = await simsByImsi(sync.inventory, profile, keyColumnOf(sync.account(profile).wording));
  const month = await downloadSums("month");
  // Both were ordered together.
  waitMs = 0;
  const sums = { month, day: await downloadSums("day") };
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
  const { profile, startedAtMs, operations, hosts, inventory, account, signal } = sync;
  const { client, selection, identify, wording } = account(profile);
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
  const { profile, account, clock, signal } = sync;
  for (;;) {
    try {
      return await account(profile).client.call(operation, input, { signal });
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
  { profile, syncId, startedAtMs, redis, keys, bounds, inventory, account }: UsageSync,
): Promise<number> {
  const keyColumn = keyColumnOf(account(profile).wording);
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

// Sums the lines of an export, 8 bytes per SIM. A SIM can have several lines, so no sum is known before the last one.

/** Larger than a file of a fleet of millions: what is larger is no export of usage. */
const caps = { bytes: 16 * 2 ** 30, rows: 200_000_000, columns: 1_000 };
/** SIMs that are not in the inventory are counted up to this number. */
const maxUnknown = 100_000;
const count = /^\d{1,15}$/;

/** An IMSI as a number that keeps zeros in front: it has at most 15 digits. 0 for what is none. */
export function imsiNumber(imsi: string): number {
  return isImsi(imsi) ? Number(`1${imsi}`) : 0;
}

/** SIMs of the inventory in the order of their IMSIs (`imsiNumber`), with the ordinal of each. */
export type SimsByImsi = Readonly<{ imsis: Float64Array; ordinals: Int32Array }>;

/**
 * Reads an export.
 * @param date the date of the lines that count, `202611` or `20261120`
 * @returns `bytes` by ordinal; `sims` with bytes, and `unknown` ones that are not in the inventory
 * @throws IntakeError for a file that is not whole or is no export of usage; the signal's reason
 */
export async function sumExport(file: Readable, { imsis, ordinals }: SimsByImsi, date: string, signal: AbortSignal) {
  const { header, batches } = await openCsv(file, caps, signal);
  const columns = ["imsi", "date", "uploadByteSizeTotal", "downloadByteSizeTotal"].map((name) => {
    const place = header.indexOf(name);
    if (place < 0) throw new IntakeError(`The export has no column ${name}.`);
    return place;
  });
  const isDate = new RegExp(`^\\d{${date.length}}$`);
  const bytes = new Float64Array(ordinals.length);
  const unknown = new Set<number>();
  for await (const batch of batches) {
    for (const { line, cells } of batch) {
      const refuse = (what: string) => new IntakeError(`Line ${line} of the export ${what}.`, { line });
      if (cells.length !== header.length)
        throw refuse(`has ${cells.length} cells of ${header.length}: it is not whole`);
      const [imsi = "", day = "", sent = "", received = ""] = columns.map((place) => cells[place]);
      const number = imsiNumber(imsi);
      if (number === 0) throw refuse("has no IMSI");
      if (!isDate.test(day)) throw refuse(`has no date such as ${date}`);
      if (!count.test(sent) || !count.test(received)) throw refuse("has a number of bytes that is none");
      if (day !== date) continue;
      const ordinal = ordinals[placeIn(imsis, number)];
      if (ordinal !== undefined) bytes[ordinal] = (bytes[ordinal] ?? 0) + Number(sent) + Number(received);
      else if (unknown.size < maxUnknown) unknown.add(number);
    }
  }
  return { bytes, unknown: unknown.size, sims: bytes.reduce((sims, some) => sims + Number(some > 0), 0) };
}

/** The place of a number among sorted ones; -1 if it is not there. */
export function placeIn(sorted: Float64Array, number: number): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((sorted[middle] ?? 0) < number) from = middle + 1;
    else to = middle;
  }
  return sorted[from] === number ? from : -1;
}

// Opens usage: its service, and what answers its route.

export type UsageService = ReturnType<typeof openUsage>["service"];

/** A sync that has started. `report` rejects as `readUsage`. */
type StartedSync = Readonly<{ syncId: string; report: Promise<routes.UsageReport> }>;

export function openUsage(kernel: Kernel, of: Pick<OpenInventory, "store"> & Pick<UsageSync, "thresholds">) {
  const { config, clock, feed, lifecycle, logger } = kernel;
  const running = new Map<string, StartedSync>();
  let closing: AbortController | undefined;
  const context = {
    ...kernel,
    inventory: of.store,
    operations: () => requireOperations(config.deployment, ["exportUsage", "getExportedFile"], "Reading the usage"),
    hosts: config.deployment.downloads.hosts,
    proxy: config.proxy,
    thresholds: of.thresholds,
  };

  const read = async (profile: string, startedAtMs: number, syncId: string, signal: AbortSignal) => {
    try {
      const isLocal = isLoopback(new URL(requirePlatform(config, profile).authEndpoint).hostname);
      const counts = await readUsage({ ...context, profile, syncId, startedAtMs, isLocal, signal });
      const { sims, unknown, crossed } = counts;
      const fields = { cause: syncId, sims: `${sims}`, unknown: `${unknown}`, crossed: `${crossed}` };
      await feed.emit({ type: "usage.synced", profile, fields });
      return { profile, syncId, isOver: true, ...counts };
    } catch (thrown) {
      const fields = { cause: syncId, reason: messageOf(thrown) };
      if (!signal.aborted) await feed.emit({ type: "usage.failed", profile, fields });
      throw thrown;
    } finally {
      running.delete(profile);
    }
  };

  /** Reads the usage of a profile's SIMs, once at a time. Repeating it reports no SIM twice. */
  const sync = (profile: string, signal?: AbortSignal): StartedSync => {
    // Registered by the first sync, so that it stops before the schedules that wait for it.
    if (closing === undefined) lifecycle.onStop("usage", () => closing?.abort(new Error("this process is stopping")));
    closing ??= new AbortController();
    const signals = signal === undefined ? [closing.signal] : [closing.signal, signal];
    const startedAtMs = clock.wallMs();
    const syncId = newWorkId("u", startedAtMs, 3);
    const started = running.get(profile) ?? {
      syncId,
      report: read(profile, startedAtMs, syncId, AbortSignal.any(signals)),
    };
    running.set(profile, started);
    return started;
  };

  return {
    service: { sync },
    routes: ({ process }: RouteHost) => [
      endpoint(routes.syncUsage, ({ query, signal }) => {
        const profile = kernel.profileOf(query.profile);
        context.operations();
        if (process === "command") return sync(profile, signal).report;
        const { syncId, report } = sync(profile);
        report.catch((thrown: unknown) => logger.error({ profile, reason: messageOf(thrown) }, "no usage was read"));
        return { profile, syncId, isOver: false, calls: 0, sims: 0, unknown: 0, crossed: 0 };
      }),
    ],
  };
}
