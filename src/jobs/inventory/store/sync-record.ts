/**
 * The stored record of a sync, and the writing of its pages to the inventory. A page is compared with the stored
 * records in this process; what differs is stored, and the position saved, in one step, so a sync killed at any point
 * resumes after the last stored page. Transitions:
 *   listing -> sweeping (last page stored)   sweeping -> finished   listing | sweeping -> failed (cannot continue)
 */
import { randomUUID } from "node:crypto";
import type { RecordOf } from "#contract/fields.ts";
import { encodeName } from "#fleet/sim/field-text.ts";
import { type Problem, nextProblem } from "#engine/problem.ts";
import { type RecordKind, type RecordStore, recordStore } from "#engine/record.ts";
import { Script } from "#redis/script.ts";
import { redisTimeMs } from "#redis/node.ts";
import { inventoryScript } from "./inventory.ts";
import { type InventoryKeys, inventoryKeys } from "./keys.ts";
import type { StoreDeps } from "#engine/move-record.ts";
import { type SharingSettings, inventoryOf, readSharing } from "#engine/sharing.ts";
import type { SyncReport } from "../contract.ts";
import { ordinalIfListed } from "../records/sim-record.ts";

const beginScript = inventoryScript("begin-sync.lua");
const pageScript = inventoryScript("take-page.lua");
const sweepScript = inventoryScript("sweep.lua");
const releaseScript = Script.load(new URL("./release-locks.lua", import.meta.url));
/** The outcome of a call that was in flight when its run ended arrives within this time, or never. */
const lateOutcomeMs = 10 * 60_000;

/** SIMs per call: each changed SIM occupies Redis for about 20 microseconds. */
const maxPerSlice = 1_000;

export interface ListedSims {
  readonly keys: readonly string[];
  /** The stored fields of a SIM (`encodeFields`). */
  readonly linesOf: (place: number) => string;
}

export type SyncPhase = SyncReport["state"];

/** State of the current or last sync. Times are Redis's; `profile` is the one whose list is read. */
export interface SyncState extends Omit<RecordOf<SyncReport>, "state" | "seconds" | "problem"> {
  readonly inventory: string;
  readonly phase: SyncPhase;
  /** Cursor of the next page; absent before the first and after the last page. */
  readonly cursor?: string;
  /** Requested page size, after a response that was too large. */
  readonly pageLimit?: number;
  /** Chunk of the inventory to sweep next. */
  readonly chunk?: number;
  /** Why the next page currently cannot be read. */
  readonly problem?: Problem | undefined;
}

export function isSyncOver({ phase }: SyncState): boolean {
  return phase === "finished" || phase === "failed";
}

const kind: RecordKind<SyncState> = {
  idField: "syncId",
  stateField: "phase",
  numbers: ["chunk", "pageLimit", "pages", "sims", "added", "changed", "returned", "gone"],
  kept: [],
  defaults: (inventory) => ({ inventory, profile: inventory }),
  entering: { problem: undefined },
  isOver: isSyncOver,
};

export class SyncLog {
  readonly #deps: StoreDeps & { readonly config?: SharingSettings };
  readonly #keys: InventoryKeys;
  readonly #records: RecordStore<SyncState>;

  /** @param deps without `config`, every profile sees all SIMs */
  constructor(deps: StoreDeps & { readonly config?: SharingSettings }) {
    this.#deps = deps;
    this.#keys = inventoryKeys(deps.keys);
    this.#records = recordStore(kind, deps, (inventory) => this.#keys.sync(inventory));
  }

  /**
   * Starts a sync, or returns the one in progress, also that of a profile with the same inventory. A profile that sees
   * all SIMs replaces the sync of one that may not, and continues reading the list where another asks for a restart.
   * @param mode `restart` replaces a sync in progress and starts at the first page
   * @param by who requests it; empty if unknown
   */
  async begin(profile: string, newId: string, mode: "resume" | "restart", by = ""): Promise<SyncState> {
    const before = await this.#records.get(await inventoryOf(this.#deps, profile));
    const { phase, profile: present = profile } = before ?? {};
    const isOther = present !== profile && (phase === "listing" || phase === "sweeping");
    const [seesAll, presentDoes] = [await this.#seesAll(profile), isOther && (await this.#seesAll(present))];
    const how = isOther && seesAll && !presentDoes ? "restart" : mode;
    await this.#run(beginScript, presentDoes && !seesAll ? present : profile, [newId, how, by]);
    const state = await this.state(profile);
    if (state === undefined) throw new Error(`the sync of ${profile} vanished`);
    return state;
  }

  /** The sync in progress, or the last one; undefined if there never was one. */
  async state(profile: string): Promise<SyncState | undefined> {
    const name = await inventoryOf(this.#deps, profile);
    // One that started before the profile came to share an inventory continues there (`follow`).
    const own = name === profile ? undefined : await this.#records.get(profile);
    const isLeft = own !== undefined && own.profile === profile && !isSyncOver(own);
    return isLeft ? own : this.#records.get(name);
  }

  /** The sync in progress in an inventory, or the last one; undefined if there never was one. */
  ofInventory(name: string): Promise<SyncState | undefined> {
    return this.#records.get(name);
  }

  /**
   * Starts a sync again in the inventory that its profile has now.
   * @returns false if that is still the one in which it has started
   */
  async follow({ profile, inventory, syncId, startedBy }: SyncState): Promise<boolean> {
    if ((await inventoryOf(this.#deps, profile)) === inventory) return false;
    await this.begin(profile, syncId, "resume", startedBy);
    await this.#deps.redis.unlink(this.#keys.sync(inventory), this.#keys.seen(inventory));
    return true;
  }

  async #seesAll(profile: string): Promise<boolean> {
    const { config } = this.#deps;
    return config === undefined || (await readSharing(this.#deps)).seers(profile, config).includes(profile);
  }

  /**
   * Stores a page.
   * @param page `pagesBefore` pages were stored before it; `asOfMs` is a time of Redis's clock before it was requested;
   *   `quiet` lists the fields that were not stored before, so that their first values are not changes
   * @returns the current time of Redis's clock; undefined if the sync is no longer at this page
   */
  async takePage(
    profile: string,
    page: {
      readonly syncId: string;
      readonly pagesBefore: number;
      readonly sims: ListedSims;
      readonly nextKey: string | undefined;
      readonly asOfMs: number;
      readonly quiet: readonly string[];
    },
  ): Promise<number | undefined> {
    const { syncId, pagesBefore, sims, nextKey, asOfMs, quiet } = page;
    const head = [syncId, pagesBefore, nextKey ?? "", asOfMs, quiet.map(encodeName).join(","), randomUUID()];
    const { length } = sims.keys;
    for (let from = 0; ; from += maxPerSlice) {
      const isFirst = from === 0;
      const isLast = from + maxPerSlice >= length;
      const which = isFirst ? (isLast ? "only" : "first") : isLast ? "last" : "next";
      const { unchanged, others } = await this.#compare(profile, sims, from);
      const args = [...head, which, length, unchanged.join(" "), others.join("")];
      const reply = await this.#run(pageScript, profile, args);
      if (reply === "stale") return undefined;
      if (isLast) return Number(reply);
    }
  }

  /** Compares SIMs with their records. @returns ordinals of those that are equal, and the others for take-page.lua */
  async #compare(profile: string, { keys, linesOf }: ListedSims, from: number) {
    const { redis } = this.#deps;
    const slice = keys.slice(from, from + maxPerSlice);
    const stored =
      slice.length === 0 ? [] : await redis.hmget(this.#keys.records(await inventoryOf(this.#deps, profile)), ...slice);
    const unchanged: number[] = [];
    const others: string[] = [];
    for (const [nth, key] of slice.entries()) {
      const lines = linesOf(from + nth);
      const record = stored[nth];
      const ordinal = typeof record === "string" ? ordinalIfListed(record, lines) : undefined;
      if (ordinal === undefined) others.push(`${key}\n${lines}\r`);
      else unchanged.push(ordinal);
    }
    return { unchanged, others };
  }

  /**
   * Marks SIMs that the listing did not show as gone, chunk by chunk, and finishes the sync. If its profile may see
   * only a part of the SIMs, none is marked.
   * @param fields the stored fields, saved for the next sync
   * @returns false if another process has moved the sync on
   */
  async sweep(profile: string, state: SyncState, fields: readonly string[]): Promise<boolean> {
    const part = `${profile} may see only a part of the SIMs, so none was marked as gone (inventory.profile)`;
    const reason = (await this.#seesAll(profile)) ? "" : part;
    for (let chunk = state.chunk ?? 0; ;) {
      const stored = fields.map(encodeName).join(",");
      const reply = await this.#run(sweepScript, profile, [state.syncId, chunk, stored, reason]);
      if (reply === "swept") chunk += 1;
      else if (reply !== "more") return reply === "finished";
    }
  }

  /** Lets the sync request shorter pages from now on. */
  async shortenPages(state: SyncState, pageLimit: number): Promise<void> {
    await this.#records.move(state.inventory, state, { pageLimit });
  }

  /** Records why the next page cannot be read; the problem lasts until a page is stored. */
  async recordProblem(state: SyncState, failure: { message: string; delayMs: number }): Promise<void> {
    const problem = nextProblem(state.problem, { ...failure, nowMs: await this.nowMs() });
    await this.#records.move(state.inventory, state, { problem });
  }

  /** Ends a sync that cannot continue; the next one starts from scratch. */
  async fail(state: SyncState, reason: string): Promise<void> {
    const failed = { phase: "failed", finishedAtMs: "now", reason } as const;
    const event = { type: "sync.failed", fields: { reason, by: undefined } } as const;
    await this.#records.move(state.inventory, state, failed, { events: [event] });
  }

  /**
   * Releases locks of runs that ended some time ago. If a run was cancelled while its worker died, no outcome releases
   * the rows in progress, and later external changes to that class would be attributed to the run.
   */
  async releaseOldLocks(profile: string): Promise<void> {
    const { redis, keys } = this.#deps;
    const key = this.#keys.locks(await inventoryOf(this.#deps, profile));
    const locks = Map.groupBy(Object.entries(await redis.hgetall(key)), ([, lock]) => lock.split("\n", 1)[0] ?? "");
    const nowMs = await this.nowMs();
    for (const [runId, ofRun] of locks) {
      const finishedAtMs = await redis.hget(keys.run(runId), "finishedAtMs");
      const isRemoved = finishedAtMs === null && (await redis.exists(keys.run(runId))) === 0;
      const isOver = finishedAtMs !== null && nowMs - Number(finishedAtMs) > lateOutcomeMs;
      if (isRemoved || isOver) await releaseScript.run(redis, [key], ofRun.flat());
    }
  }

  /** Redis's clock, ms. */
  nowMs(): Promise<number> {
    return redisTimeMs(this.#deps.redis, this.#deps.keys);
  }

  async #run(script: Script, profile: string, args: readonly (string | number)[]): Promise<unknown> {
    const { redis, bounds } = this.#deps;
    const keys = this.#keys;
    const name = await inventoryOf(this.#deps, profile);
    return script.run(redis, [...keys.ofScripts(name), keys.sync(name)], [profile, bounds.maxEvents, ...args]);
  }
}
