/**
 * Reads the whole fleet through the paginated list and keeps it in the inventory; what the list no longer shows is marked
 * as gone. The place is saved with every page, so that a sync that is cut short, by a crash or a spent quota, goes on at
 * that page, and nothing is marked before the last one. Asking, working out and taking in overlap, a page each.
 */
import type { Page } from "#api/pages.ts";
import { type SimRecord, recordsIn } from "#api/operations/sims.ts";
import type { RecordList } from "#api/record-list.ts";
import { backoffMs } from "#core/backoff.ts";
import { PlatformError } from "#core/errors.ts";
import { makeRoomForPages } from "#core/heap-room.ts";
import { type Clock, yieldToEventLoop } from "#core/time.ts";
import { jsonWithoutSecrets, visitFields } from "#fleet/sim-fields.ts";
import { isImsi, isSimId } from "#fleet/sim.ts";
import type { Inventory, InventoryFacts } from "./store/inventory.ts";
import { digestOf } from "./store/sim-record.ts";
import { type SyncLog, type SyncState, isSyncOver } from "./store/sync-record.ts";
import type { ListedSims } from "./store/page-encoder.ts";
import type { Account } from "#api/account.ts";
import type { WorkResult } from "#engine/job-result.ts";

export interface SyncContext {
  readonly syncs: SyncLog;
  readonly inventory: Inventory;
  readonly clock: Clock;
  readonly accountFor: (profile: string) => Account;
  readonly newSyncId: () => string;
}

const sleepInPlaceMs = 2_000;
/** How long the next request may take to go out before the page at hand is worked on. */
const sendingMs = 5;
const refusalPauseMs = 30_000;
const unreachableBackoff = { baseMs: 5_000, capMs: 30_000 };
/** Length of pages after one that was too large, where none was asked for. */
const firstShorterLimit = 1_000;

interface ShorterPages {
  readonly syncId: string;
  readonly limit: number;
}

/** By profile: what a sync has learned of answers that were too large. It outlives the waits for the quota. */
const shorterPages = new WeakMap<SyncLog, Map<string, ShorterPages>>();

/**
 * Goes on with the sync of a profile that is under way.
 * @param signal aborts when this process stops or has lost the job
 * @throws what the store throws; the queue tries again then
 */
export async function syncInventory(profile: string, context: SyncContext, signal: AbortSignal): Promise<WorkResult> {
  for (;;) {
    const state = await context.syncs.state(profile);
    if (state === undefined || isSyncOver(state)) return { kind: "ended" };
    if (signal.aborted) return { kind: "handed-back" };
    if (state.phase === "sweeping") {
      await context.syncs.sweep(profile, state, context.accountFor(profile).choice.fields);
      continue;
    }
    const interruption = await new Listing(profile, state, context, signal).read();
    if (interruption !== undefined) return interruption;
  }
}

/** The reading of the list from where it stood. */
class Listing {
  readonly #profile: string;
  readonly #state: SyncState;
  readonly #context: SyncContext;
  readonly #account: Account;
  readonly #signal: AbortSignal;
  #pages: number;

  constructor(profile: string, state: SyncState, context: SyncContext, signal: AbortSignal) {
    this.#profile = profile;
    this.#state = state;
    this.#context = context;
    this.#account = context.accountFor(profile);
    this.#signal = signal;
    this.#pages = state.pages;
  }

  /** @returns undefined when the sync is to be looked at anew: its listing is complete, it ended, or it is elsewhere */
  async read(): Promise<WorkResult | undefined> {
    try {
      await this.#readPages();
      return undefined;
    } catch (thrown) {
      if (this.#signal.aborted) return { kind: "handed-back" };
      if (thrown instanceof PlatformError) return this.#afterFault(thrown);
      throw thrown;
    }
  }

  /** Length of the pages that are asked for. */
  get #pageLimit(): number | undefined {
    const shorter = shorterPages.get(this.#context.syncs)?.get(this.#profile);
    return shorter?.syncId === this.#state.syncId ? shorter.limit : this.#account.pageLimit;
  }

  async #readPages(): Promise<void> {
    const { client, wording, choice } = this.#account;
    const { syncs, inventory, clock } = this.#context;
    const facts = await inventory.facts(this.#profile);
    const quiet = this.#otherFields(facts);
    const codes = await syncs.codes(this.#profile);
    await syncs.forgetOldClaims(this.#profile);
    const input = { lastEvaluatedKey: this.#state.cursor, limit: this.#pageLimit };
    let sent = Promise.withResolvers<void>();
    const onSending = (): void => sent.resolve();
    const pages = client.pages(recordsIn(wording, choice.secrets), input, { signal: this.#signal, onSending });
    let knownMs = await syncs.nowMs();
    let asked = askFor(pages, knownMs);
    /** The page before, on its way into the inventory while this one is worked out. */
    let taking: Promise<number | undefined> = Promise.resolve(knownMs);
    try {
      for (;;) {
        const { done, value: page } = await asked.page;
        if (done) return;
        const { asOfMs } = asked;
        sent = Promise.withResolvers<void>();
        asked = askFor(pages, knownMs);
        // What follows keeps this thread busy: the request should be out before. A spent quota is not waited for.
        await Promise.race([sent.promise, clock.sleep(sendingMs)]);
        await yieldToEventLoop();
        makeRoomForPages();
        const sims = this.#listed(page.items);
        const taken = await taking;
        if (taken === undefined) return; // another process has the sync
        knownMs = taken;
        this.#signal.throwIfAborted();
        taking = syncs.takePage(this.#profile, {
          syncId: this.#state.syncId,
          pagesBefore: this.#pages,
          sims,
          nextKey: page.nextKey,
          asOfMs,
          quiet,
          codes,
          expect: facts.isComplete ? "known" : "new",
        });
        taking.catch(() => undefined); // awaited at the next page, or below
        this.#pages += 1;
      }
    } finally {
      await taking;
    }
  }

  /** Fields that the last sync did not keep, or that this one does not: that they come and go is no change. */
  #otherFields({ isComplete, fields: before }: Pick<InventoryFacts, "isComplete" | "fields">): string[] {
    const { fields } = this.#account.choice;
    const differ = [
      ...fields.filter((name) => !before.includes(name)),
      ...before.filter((name) => !fields.includes(name)),
    ];
    return isComplete ? differ : [];
  }

  #listed(records: RecordList<SimRecord>): ListedSims {
    const { wording, choice } = this.#account;
    const isKey = wording === "sims" ? isSimId : isImsi;
    const keys: string[] = [];
    const places: number[] = [];
    const digests: string[] = [];
    for (let place = 0; place < records.keys.length; place += 1) {
      const key = records.keys[place] ?? "";
      if (!isKey(key)) continue;
      const seen = records.bytesWithoutSecrets(place);
      keys.push(key);
      places.push(place);
      digests.push(digestOf(seen ?? jsonWithoutSecrets(records.record(place), choice.secrets)));
    }
    // Another choice of fields makes every record worth another look.
    const mark = digestOf(choice.fields.join(",")).slice(0, 2);
    return {
      keys,
      digests: digests.map((digest) => mark + digest).join(""),
      encodeFields: (nth, visit) => void visitFields(records.record(places[nth] ?? 0), choice, visit),
    };
  }

  async #afterFault(fault: PlatformError): Promise<WorkResult | undefined> {
    const { clock, syncs } = this.#context;
    const later = (delayMs: number): WorkResult => ({
      kind: "postponed",
      delayMs,
      scope: "job",
      reason: fault.message,
      ...(fault.exitCode === 3 ? { refusal: fault } : {}),
    });
    const laterWithProblem = async (delayMs: number): Promise<WorkResult> => {
      await syncs.recordProblem(this.#profile, this.#state.syncId, { message: fault.message, delayMs });
      return later(delayMs);
    };
    if (fault.isAnswerTooLarge) return this.#askForLess(fault);
    switch (fault.code) {
      case "PLATFORM_THROTTLED": {
        const delayMs = fault.retryAfterMs ?? 1_000;
        if (delayMs > sleepInPlaceMs) return later(delayMs);
        await clock.sleep(delayMs, this.#signal).catch(() => undefined);
        return undefined;
      }
      case "PLATFORM_UNAUTHORIZED":
      case "PLATFORM_FORBIDDEN":
        return laterWithProblem(refusalPauseMs);
      case "PLATFORM_REJECTED":
        // A place that was saved long ago may be unknown by now; one that was just given is not.
        if (this.#pages > 0 && this.#pages === this.#state.pages) {
          await syncs.begin(this.#profile, this.#context.newSyncId(), "restart", this.#state.startedBy);
          return undefined;
        }
        return this.#fail(fault);
      case "PLATFORM_CONTRACT":
        return this.#fail(fault);
      default: {
        // Pages that were read since the record was cleared its problem: the attempts begin again.
        const attempts = this.#pages === this.#state.pages ? (this.#state.problem?.attempts ?? 0) : 0;
        return laterWithProblem(backoffMs(unreachableBackoff, attempts + 1));
      }
    }
  }

  /** Goes on with pages of half the length; a page that does not get smaller by that ends the sync. */
  async #askForLess(fault: PlatformError): Promise<WorkResult | undefined> {
    const limit = this.#pageLimit;
    if (limit !== 1) {
      const { syncId } = this.#state;
      const shorter = limit === undefined ? firstShorterLimit : Math.floor(limit / 2);
      const bySync = shorterPages.get(this.#context.syncs) ?? new Map<string, ShorterPages>();
      shorterPages.set(this.#context.syncs, bySync.set(this.#profile, { syncId, limit: shorter }));
      return undefined;
    }
    const message = `${fault.message} Even a page of one SIM is too large: does the platform take a limit?`;
    return this.#fail(new PlatformError("PLATFORM_CONTRACT", message, { operation: fault.operation }));
  }

  async #fail(error: PlatformError): Promise<WorkResult> {
    await this.#context.syncs.fail(this.#profile, this.#state.syncId, error.message);
    return { kind: "ended" };
  }
}

interface Asked {
  readonly page: Promise<IteratorResult<Page<RecordList<SimRecord>>, void>>;
  /** An instant of Redis's clock before the page was asked for. */
  readonly asOfMs: number;
}

function askFor(pages: AsyncGenerator<Page<RecordList<SimRecord>>, void>, asOfMs: number): Asked {
  const page = pages.next();
  page.catch(() => undefined); // it is awaited later, or not at all when taking the page before fails
  return { page, asOfMs };
}
