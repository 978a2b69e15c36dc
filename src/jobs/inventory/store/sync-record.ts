/**
 * The stored record of a sync, and the writing of its pages to the inventory. A page is stored and the position saved in one
 * step, so a sync killed at any point resumes after the last stored page. Transitions:
 *   listing -> sweeping (last page stored)   sweeping -> finished   listing | sweeping -> failed (cannot continue)
 */
import { randomUUID } from "node:crypto";
import { encodeName } from "#fleet/field-text.ts";
import { type Problem, problemIn } from "#engine/problem.ts";
import { Script } from "#redis/script.ts";
import { redisTimeMs } from "#redis/time.ts";
import { inventoryKeys, inventoryScript } from "./inventory-script.ts";
import type { StoreDeps } from "#engine/store-deps.ts";
import { type ListedSims, LineEncoder, PageEncoder } from "./page-encoder.ts";
import { ValueCodes } from "./value-codes.ts";

const beginScript = inventoryScript("begin-sync.lua");
const pageScript = inventoryScript("take-page.lua");
const sweepScript = inventoryScript("sweep.lua");
const failScript = inventoryScript("fail-sync.lua");
const problemScript = inventoryScript("record-sync-problem.lua");

const releaseScript = Script.load(new URL("./release-claims.lua", import.meta.url));
/** The outcome of a call that was in flight when its run ended arrives within this time, or never. */
const lateOutcomeMs = 10 * 60_000;

/** SIMs per call: each changed SIM occupies Redis for about 20 microseconds. */
const mostPerSlice = 1_000;

export type SyncPhase = "listing" | "sweeping" | "finished" | "failed";

/** State of the current or last sync. Times are Redis's. */
export interface SyncState {
  readonly syncId: string;
  readonly phase: SyncPhase;
  readonly startedAtMs: number;
  /** Who requested it. */
  readonly startedBy?: string;
  /** When it finished or failed. */
  readonly finishedAtMs?: number;
  /** Cursor of the next page; absent before the first and after the last page. */
  readonly cursor?: string;
  /** Chunk of the inventory to sweep next. */
  readonly chunk?: number;
  readonly pages: number;
  /** Number of SIMs listed, and of new, changed and returned ones among them. */
  readonly sims: number;
  readonly added: number;
  readonly changed: number;
  readonly returned: number;
  /** SIMs that are no longer listed. */
  readonly gone: number;
  /** Why it failed. */
  readonly reason?: string;
  /** Why the next page currently cannot be read. */
  readonly problem?: Problem;
}

export function isSyncOver({ phase }: SyncState): boolean {
  return phase === "finished" || phase === "failed";
}

export class SyncLog {
  readonly #storeDeps: StoreDeps;
  readonly #lineEncoder = new LineEncoder();

  constructor(storeDeps: StoreDeps) {
    this.#storeDeps = storeDeps;
  }

  /**
   * Begins a sync, or returns the one in progress.
   * @param how `restart` replaces a sync in progress and starts at the first page
   * @param by who requests it; empty if nobody did
   */
  async begin(profile: string, newId: string, how: "resume" | "restart", by = ""): Promise<SyncState> {
    await this.#run(beginScript, profile, [newId, how, by]);
    const state = await this.state(profile);
    if (state === undefined) throw new Error(`the sync of ${profile} vanished`);
    return state;
  }

  async state(profile: string): Promise<SyncState | undefined> {
    const hash = await this.#storeDeps.redis.hgetall(this.#storeDeps.keys.sync(profile));
    if (hash.syncId === undefined) return undefined;
    const number = (name: string): number => Number(hash[name] ?? 0);
    const problem = problemIn(hash);
    return {
      syncId: hash.syncId,
      phase: hash.phase as SyncPhase,
      startedAtMs: number("startedAtMs"),
      ...(hash.startedBy === undefined ? {} : { startedBy: hash.startedBy }),
      ...(hash.finishedAtMs === undefined ? {} : { finishedAtMs: number("finishedAtMs") }),
      ...(hash.cursor === undefined ? {} : { cursor: hash.cursor }),
      ...(hash.chunk === undefined ? {} : { chunk: number("chunk") }),
      pages: number("pages"),
      sims: number("sims"),
      added: number("added"),
      changed: number("changed"),
      returned: number("returned"),
      gone: number("gone"),
      ...(hash.reason === undefined ? {} : { reason: hash.reason }),
      ...(problem === undefined ? {} : { problem }),
    };
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
      readonly codes: ValueCodes;
      /** Whether most of its SIMs are expected to be unchanged, or new. */
      readonly expect: "known" | "new";
    },
  ): Promise<number | undefined> {
    const { syncId, pagesBefore, sims, nextKey, asOfMs, quiet, codes } = page;
    const storeDeps = [syncId, pagesBefore, nextKey ?? "", asOfMs, quiet.map(encodeName).join(",")];
    const taking = randomUUID();
    const { length } = sims.keys;
    for (let from = 0; ; from += mostPerSlice) {
      const isFirst = from === 0;
      const isLast = from + mostPerSlice >= length;
      const which = isFirst ? (isLast ? "only" : "first") : isLast ? "last" : "next";
      const slice = length <= mostPerSlice ? sims : sliceOf(sims, from);
      const listed = [slice.keys.join("\n"), slice.digests];
      const areAllEncoded = page.expect === "new";
      const most = areAllEncoded ? slice.keys.length : 0;
      const reported = new PageEncoder(slice, { codes, lineEncoder: this.#lineEncoder, most });
      for (let place = 0; place < most; place += 1) reported.encodeFields(place);
      let reply: unknown;
      for (;;) {
        const what = [areAllEncoded ? "*" : reported.places.join(","), reported.signatures, reported.lines];
        reply = await this.#run(pageScript, profile, [...storeDeps, ...listed, ...what, taking, which, length]);
        if (!Array.isArray(reply)) break;
        for (const place of reply as number[]) reported.encodeFields(place);
      }
      await codes.register();
      if (reply === "stale") return undefined;
      if (isLast) return Number(reply);
    }
  }

  /**
   * Marks SIMs that the listing did not show as gone, chunk by chunk, and finishes the sync.
   * @param fields the stored fields, saved for the next sync
   * @returns false if another process has moved the sync on
   */
  async sweep(profile: string, state: SyncState, fields: readonly string[]): Promise<boolean> {
    for (let chunk = state.chunk ?? 0; ;) {
      const reply = await this.#run(sweepScript, profile, [state.syncId, chunk, fields.map(encodeName).join(",")]);
      if (reply === "swept") chunk += 1;
      else if (reply !== "more") return reply === "finished";
    }
  }

  /** Records why the next page cannot be read; the problem lasts until a page is stored. */
  async recordProblem(
    profile: string,
    syncId: string,
    problem: { readonly message: string; readonly delayMs: number },
  ): Promise<void> {
    await this.#run(problemScript, profile, [syncId, problem.message, Math.ceil(problem.delayMs)]);
  }

  async fail(profile: string, syncId: string, reason: string): Promise<void> {
    await this.#run(failScript, profile, [syncId, reason]);
  }

  /**
   * Releases claims of runs that ended some time ago. If a run was cancelled while its worker died, no outcome releases the
   * rows in progress, and later external changes to that class would be attributed to the run.
   */
  async forgetOldClaims(profile: string): Promise<void> {
    const { redis, keys } = this.#storeDeps;
    const claims = Object.entries(await redis.hgetall(keys.simsClaims(profile)));
    const runIds = [...new Set(claims.map(([, claim]) => runOf(claim)))];
    const nowMs = await this.nowMs();
    const isOld = new Set<string>();
    for (const runId of runIds) {
      const finishedAtMs = await redis.hget(keys.run(runId), "finishedAtMs");
      if (finishedAtMs !== null && nowMs - Number(finishedAtMs) > lateOutcomeMs) isOld.add(runId);
    }
    const old = claims.filter(([, claim]) => isOld.has(runOf(claim)));
    if (old.length > 0) await releaseScript.run(redis, [keys.simsClaims(profile)], old.flat());
  }

  /** The codes of values that earlier syncs have seen. */
  codes(profile: string): Promise<ValueCodes> {
    return ValueCodes.load(this.#storeDeps.redis, this.#storeDeps.keys, profile);
  }

  /** Redis's clock, ms. */
  nowMs(): Promise<number> {
    return redisTimeMs(this.#storeDeps.redis);
  }

  #run(script: Script, profile: string, args: readonly (string | number | Buffer)[]): Promise<unknown> {
    const { redis, keys, bounds } = this.#storeDeps;
    return script.run(redis, [...inventoryKeys(keys, profile), keys.sync(profile)], [profile, bounds.most, ...args]);
  }
}

/** The slice of a page that one call stores, starting at a place. */
function sliceOf(sims: ListedSims, from: number): ListedSims {
  const to = from + mostPerSlice;
  const width = sims.digests.length / sims.keys.length;
  return {
    keys: sims.keys.slice(from, to),
    digests: sims.digests.slice(from * width, to * width),
    encodeFields: (nth, visit) => sims.encodeFields(from + nth, visit),
  };
}

function runOf(claim: string): string {
  return claim.split(" ", 1)[0] ?? "";
}
