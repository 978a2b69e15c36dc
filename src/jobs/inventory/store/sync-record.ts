/**
 * A sync as the store keeps it: where it stands, and the writing of its pages into the inventory. A page is taken and the
 * place saved in one step, so that a sync killed anywhere goes on at the page after the last one taken. Its moves:
 *   listing -> sweeping (last page taken)   sweeping -> finished   listing | sweeping -> failed (it cannot go on)
 */
import { randomUUID } from "node:crypto";
import { encodeName } from "#fleet/field-text.ts";
import { type Problem, problemIn } from "#engine/problem.ts";
import { Script } from "#redis/script.ts";
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
/** The outcome of a call that was out when its run ended comes within this time, or never. */
const lateOutcomeMs = 10 * 60_000;

/** SIMs that one call takes in: a call keeps Redis busy for some 20 microseconds for each that has changed. */
const mostPerSlice = 1_000;

export type SyncPhase = "listing" | "sweeping" | "finished" | "failed";

/** How a sync stands, or how the last one went. Instants are Redis's. */
export interface SyncState {
  readonly syncId: string;
  readonly phase: SyncPhase;
  readonly startedAtMs: number;
  /** Who asked for it. */
  readonly startedBy?: string;
  /** When it finished or failed. */
  readonly finishedAtMs?: number;
  /** Key of the page to read next; absent at the beginning and after the last page. */
  readonly cursor?: string;
  /** Chunk of the inventory to sweep next. */
  readonly chunk?: number;
  readonly pages: number;
  /** SIMs listed, and among them new, changed and returned ones. */
  readonly sims: number;
  readonly added: number;
  readonly changed: number;
  readonly returned: number;
  /** SIMs that are no longer listed. */
  readonly gone: number;
  /** Why it failed. */
  readonly reason?: string;
  /** Why the next page cannot be read at present. */
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
   * Begins a sync, or gives the one that was cut short.
   * @param how `restart` begins at the first page whatever is under way
   * @param by who asks for it; empty where nobody did
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
   * Takes a page in.
   * @param page `pagesBefore` pages were taken before it; `asOfMs` is an instant of Redis's clock before it was asked for;
   *   `quiet` names the fields whose first sight is no change, since they were not kept before
   * @returns the present instant of Redis's clock; undefined when the sync is no longer at this page
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
      /** Whether most of its SIMs will be known as they are, or new. */
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
   * Marks what the listing did not show, chunk by chunk, until the sync is finished.
   * @param fields those that are kept, for the next sync to know
   * @returns false when the sync is elsewhere
   */
  async sweep(profile: string, state: SyncState, fields: readonly string[]): Promise<boolean> {
    for (let chunk = state.chunk ?? 0; ;) {
      const reply = await this.#run(sweepScript, profile, [state.syncId, chunk, fields.map(encodeName).join(",")]);
      if (reply === "swept") chunk += 1;
      else if (reply !== "more") return reply === "finished";
    }
  }

  /** Records why the next page cannot be read, until a page is. */
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
   * Lets go of what runs claimed that have been over for a while: of a run that was cancelled while its worker died, no
   * outcome releases the rows that were under way, and every later change to that class would pass for the run's.
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

  /** The codes of the values that earlier syncs have seen. */
  codes(profile: string): Promise<ValueCodes> {
    return ValueCodes.load(this.#storeDeps.redis, this.#storeDeps.keys, profile);
  }

  /** Redis's clock, ms. */
  async nowMs(): Promise<number> {
    const [seconds, micros] = await this.#storeDeps.redis.time();
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  }

  #run(script: Script, profile: string, args: readonly (string | number | Buffer)[]): Promise<unknown> {
    const { redis, keys, bounds } = this.#storeDeps;
    return script.run(redis, [...inventoryKeys(keys, profile), keys.sync(profile)], [profile, bounds.most, ...args]);
  }
}

/** The SIMs of a page from a place on that one call takes in. */
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
