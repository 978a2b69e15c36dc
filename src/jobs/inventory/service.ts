/** The inventory of a process: what is stored of SIMs and syncs, operations on syncs, and the counts of the fleet. */
import type { Activity } from "#engine/activity-log.ts";
import { reportOf } from "#contract/fields.ts";
import { reportOfProblem } from "#engine/problem.ts";
import { newWorkId } from "#engine/record.ts";
import type { Incident, Interruption, Working } from "#engine/queue/job-result.ts";
import { profileJobs } from "#engine/queue/named-jobs.ts";
import { readSharing } from "#engine/sharing.ts";
import { keepAnswers } from "#core/kept.ts";
import { dayMs, minuteMs } from "#core/time.ts";
import { everySim } from "#fleet/filter.ts";
import type { Sweep, Swept } from "#engine/sweep.ts";
import type { Kernel } from "#kernel/kernel.ts";
import * as routes from "./contract.ts";
import { countByValue } from "./sims.ts";
import { Inventory, forgetGoneSims } from "./store/inventory.ts";
import { inventoryKeys } from "./store/keys.ts";
import { type SyncState, SyncLog, isSyncOver } from "./store/sync-record.ts";
import { syncInventory } from "./work.ts";

export type OpenInventory = ReturnType<typeof openInventory>;

export function openInventory(kernel: Kernel) {
  const store = new Inventory(kernel);
  const syncs = new SyncLog(kernel);
  const queues = profileJobs("syncs", kernel);
  const context = { ...kernel, syncs, inventory: store };

  /**
   * Starts a sync, or resumes an interrupted one. The consumer of the profile's syncs, usually a worker, runs it.
   * @param options `by`: who requests it
   */
  const sync = async (profile: string, { by, mode = "resume" }: { by: string; mode?: "resume" | "restart" }) => {
    const state = await syncs.begin(profile, newWorkId("s", await syncs.nowMs(), 3), mode, by);
    await queues.enqueue(state.profile, "now");
    return reportOfSync(state);
  };

  /** The sync in progress, or the last one; undefined if there never was one. */
  const syncReport = async (profile: string): Promise<routes.SyncReport | undefined> => {
    const state = await syncs.state(profile);
    return state === undefined ? undefined : reportOfSync(state);
  };

  /** The syncs of some profiles; profiles with the same inventory have one. */
  const syncReports = async (profiles: readonly string[]): Promise<routes.SyncReport[]> => {
    const reports = await Promise.all((await readSharing(kernel)).firsts(profiles).map(syncReport));
    return reports.filter((report) => report !== undefined);
  };

  /** Reads a profile's SIMs, unless a sync has since this instant of Redis's clock. @returns why that is not over */
  const syncSince = async (profile: string, atMs: number, signal: AbortSignal): Promise<Interruption | undefined> => {
    const isListed = async (): Promise<boolean> => ((await store.facts(profile)).listedAtMs ?? 0) > atMs;
    if (await isListed()) return undefined;
    await sync(profile, { by: "gate" });
    const result = (await queues.isServed(profile)) ? undefined : await syncInventory(profile, context, signal);
    if (result !== undefined && result.kind !== "ended") return result;
    return (await isListed())
      ? undefined
      : { kind: "postponed", delayMs: 2_000, scope: "job", reason: "a sync goes on" };
  };

  /** Works on a profile's syncs until stopped. */
  const consume = (profile: string, onIncident: (incident: Incident) => void): Promise<Working> =>
    queues.consumeOne(
      { name: profile },
      {
        onIncident,
        // Never `due`: a sync that waits for the quota must not start early.
        status: async ({ name }) => {
          const state = await syncs.state(name);
          return state?.profile === name && !isSyncOver(state) ? "waiting" : "none";
        },
        work: async ({ name }, signal) => {
          const result = await syncInventory(name, context, signal);
          if (result.kind === "ended") await kernel.feed.trim();
          if (result.kind === "postponed") {
            const { reason, refusal } = result;
            onIncident({ message: reason, isInReport: true, ...(refusal === undefined ? {} : { refusal }) });
          }
          return result;
        },
      },
    );

  const service = { sync, syncReport, syncReports, ...fleetCounts(kernel, { store, syncs }) };
  return { service, store, syncs, isServed: queues.isServed, syncSince, consume };
}

/** Removes the SIMs that no sync has listed for long enough. */
export async function sweepSims(
  { nowMs, signal }: Sweep,
  deps: Pick<Kernel, "config" | "redis" | "keys" | "bounds" | "keyColumnOf"> & Pick<OpenInventory, "store" | "syncs">,
): Promise<Swept> {
  const { config, keyColumnOf, store, syncs } = deps;
  const beforeMs = nowMs - config.retention.goneSimDays * dayMs;
  let goneSims = 0;
  for (const profile of Object.keys(config.profiles)) {
    if (signal.aborted) break;
    await syncs.releaseOldLocks(profile);
    const options = { beforeMs, keyColumn: keyColumnOf(profile) };
    goneSims += await forgetGoneSims(profile, options, { ...deps, inventory: store });
  }
  return { counts: { goneSims } };
}

// Counts of the fleet, current and over time: one point of the history every five minutes, kept for a week, in a sorted
// set by time.

/** A report of the fleet is kept for so long at least: counting a large inventory takes a while. */
const minKeptMs = 3_000;
const spacingMs = 5 * minuteMs;
const keepMs = 7 * 24 * 60 * minuteMs;

type StoredPoint = Omit<routes.FleetPoint, "at"> & { readonly atMs: number };

function toSlot(atMs: number): number {
  return Math.floor(atMs / spacingMs) * spacingMs;
}

function fleetCounts(
  { redis, keys, clock, keyColumnOf }: Kernel,
  { store, syncs }: { readonly store: Inventory; readonly syncs: SyncLog },
) {
  const historyOf = inventoryKeys(keys).history;
  const kept = keepAnswers<routes.FleetReport>(clock, minKeptMs);

  /** Counts the fleet, for the dashboard and for scheduled reports. */
  const fleet = (profile: string): Promise<routes.FleetReport> =>
    kept(profile, async () => {
      const state = await syncs.state(profile);
      const at = new Date(await syncs.nowMs()).toISOString();
      const query = { profile, keyColumn: keyColumnOf(profile), filter: everySim, presence: "listed" } as const;
      const countBy = (field: string) => countByValue(store, { ...query, field }, Infinity);
      const { total, values: bySpeedClass } = await countBy("speedClass");
      const byStatus = await countBy("status");
      const byGroup = await countBy("groupId");
      const { gone, isComplete } = await store.facts(profile);
      return {
        profile,
        at,
        total,
        gone,
        isComplete,
        lastSync: state === undefined ? null : reportOfSync(state),
        bySpeedClass: toCounts(bySpeedClass),
        byStatus: toCounts(byStatus.values),
        byGroup: toCounts(byGroup.values, maxGroups),
      };
    });

  /** Stores a point of the fleet's history, unless one was stored in the last five minutes. */
  const remember = async (profile: string): Promise<void> => {
    const atMs = clock.wallMs();
    const slotMs = toSlot(atMs);
    const key = historyOf(profile);
    const { known } = await store.facts(profile);
    if (known === 0 || (await redis.zcount(key, slotMs, slotMs)) > 0) return;
    const { total, bySpeedClass } = await fleet(profile);
    const point: StoredPoint = { atMs, total, bySpeedClass };
    const before = `(${slotMs - keepMs}`;
    await redis.multi().zadd(key, slotMs, JSON.stringify(point)).zremrangebyscore(key, "-inf", before).exec();
  };

  /** Counts of the fleet over time, oldest first; if two processes stored the same point, one of them. */
  const fleetPoints = async (profile: string, hours: number): Promise<routes.FleetPoint[]> => {
    const since = toSlot(clock.wallMs() - hours * 60 * minuteMs);
    const texts = await redis.zrangebyscore(historyOf(profile), since, "+inf");
    const points = texts.map((text) => JSON.parse(text) as StoredPoint);
    const distinct = new Map(points.map((point) => [toSlot(point.atMs), point])).values();
    return [...distinct].map(({ atMs, ...point }) => ({ at: new Date(atMs).toISOString(), ...point }));
  };

  return { fleet, remember, fleetPoints };
}

const maxGroups = 50;

function toCounts(values: routes.SimCounts["values"], max = values.length): routes.FleetReport["byGroup"] {
  const shown = values.slice(0, max).map(({ value, count }) => [value ?? "none", count] as const);
  const rest = values.slice(max).reduce((sum, { count }) => sum + count, 0);
  return Object.fromEntries(rest === 0 ? shown : [...shown, ["other", rest]]);
}

// The report of a sync, for display and JSON.

export function reportOfSync(state: SyncState): routes.SyncReport {
  const { phase, startedAtMs, finishedAtMs, problem } = state;
  const seconds = finishedAtMs === undefined ? undefined : (finishedAtMs - startedAtMs) / 1e3;
  return reportOf(routes.syncReport, { ...state, state: phase, seconds, problem: problem && reportOfProblem(problem) });
}

/** The last syncs for the log. */
export function activityOfSyncs(reports: readonly routes.SyncReport[]): Activity[] {
  return reports.map(({ syncId, profile, state, sims, added, changed, returned, gone, reason }) => {
    const isOver = state === "finished" || state === "failed";
    return {
      id: syncId,
      state: isOver ? state : "running",
      isOver,
      facts: { syncId, profile, sims, added, changed, returned, gone, reason },
      what: "the sync",
      end: state,
    };
  });
}
