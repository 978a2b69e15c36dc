/**
 * Reads the whole fleet through the paginated list into the inventory, and marks SIMs that the list no longer shows as gone.
 * The position is saved with every page, so a sync interrupted by a crash or a spent quota resumes at that page; SIMs are
 * marked only after the last page. Requesting a page and storing the one before overlap.
 */
import type { Page } from "#api/pages.ts";
import { type SimRecord, listSims, listSubscribers } from "#api/operations/sims.ts";
import { PlatformError } from "#core/errors.ts";
import { type Clock, yieldToEventLoop } from "#core/time.ts";
import { isImsi, isSimId, keyColumnOf } from "#fleet/sim/sim.ts";
import type { Inventory, InventoryFacts } from "./store/inventory.ts";
import { encodeRecord } from "./records/sim-record.ts";
import { type ListedSims, type SyncLog, type SyncPhase, type SyncState, newSyncId } from "./store/sync-record.ts";
import type { Account } from "#api/account.ts";
import { faultRules } from "#engine/fault-policy.ts";
import type { Problem } from "#engine/problem.ts";
import type { PoisonGuard } from "#engine/poison-guard.ts";
import type { WorkResult } from "#engine/queue/job-result.ts";
import { again, giveUp, runSteps, type StepResult, type Steps } from "#engine/steps.ts";

export interface SyncContext {
  readonly syncs: SyncLog;
  readonly inventory: Inventory;
  readonly clock: Clock;
  readonly accountFor: (profile: string) => Account;
  readonly guard: Pick<PoisonGuard, "run">;
}

/** How long to wait for the next request to be sent before storing the current page. */
const sendingMs = 5;
/** Page size after a response that was too large, if no size was configured. */
const firstShorterLimit = 1_000;

const rules = faultRules({
  PLATFORM_UNAVAILABLE: { delay: { baseMs: 5_000, capMs: 30_000 } },
  CONFIG_INVALID: "give-up",
});

/** A page is stored and the position saved in one script, so the steps save their moves themselves. */
type SyncResult = StepResult<never>;

const steps: Steps<Exclude<SyncPhase, "finished" | "failed">, SyncStep, never> = {
  listing: (step) => step.list(),
  sweeping: (step) => step.sweep(),
};

/**
 * Continues the sync of a profile that is in progress.
 * @param signal aborts when this process stops or has lost the job
 * @throws errors of the store; the queue then retries the job
 */
export function syncInventory(profile: string, context: SyncContext, signal: AbortSignal): Promise<WorkResult> {
  const { syncs, clock } = context;
  return runSteps<SyncStep, never>(
    {
      open: async () => {
        const state = await syncs.state(profile);
        return state?.profile === profile ? new SyncStep(state, context, signal) : undefined;
      },
      clock,
      stateOf: ({ state }) => state.phase,
      steps,
      save: () => Promise.resolve(),
      saveWait: async ({ state, problem }, { isProblem, reason: message, delayMs }) => {
        if (isProblem === true) await syncs.recordProblem({ ...state, problem }, { message, delayMs });
      },
      saveGivingUp: ({ state }, reason) => syncs.fail(state, reason),
      guard: context.guard,
      pointOf: ({ state: { syncId, phase, pages } }) => `sync ${profile} ${syncId} ${phase} ${pages}`,
      saveQuarantined: ({ state }, reason) => syncs.fail(state, reason),
      faultRules: ({ problem }) => ({ rules, tries: problem?.attempts ?? 0 }),
    },
    signal,
  );
}

/** One step of a sync: reads the list, starting at the saved position, or marks the SIMs that it did not show. */
class SyncStep {
  readonly state: SyncState;
  readonly #context: SyncContext;
  readonly #account: Account;
  readonly #signal: AbortSignal;
  #pages: number;

  constructor(state: SyncState, context: SyncContext, signal: AbortSignal) {
    this.state = state;
    this.#context = context;
    this.#account = context.accountFor(state.profile);
    this.#signal = signal;
    this.#pages = state.pages;
  }

  /** Why the next page could not be read; each stored page clears it. */
  get problem(): Problem | undefined {
    return this.#pages === this.state.pages ? this.state.problem : undefined;
  }

  /** Marks the SIMs that the list no longer shows. */
  async sweep(): Promise<SyncResult> {
    const { syncs } = this.#context;
    if (await syncs.follow(this.state)) return again;
    await syncs.sweep(this.state.profile, this.state, this.#account.selection.fields);
    return again;
  }

  /** Reads the list to its end, or until another process has taken over the sync. */
  async list(): Promise<SyncResult> {
    try {
      await this.#account.identify?.(this.#signal);
      if (!(await this.#context.syncs.follow(this.state))) await this.#readPages();
      return again;
    } catch (thrown) {
      if (this.#signal.aborted || !(thrown instanceof PlatformError)) throw thrown;
      if (thrown.isAnswerTooLarge) return this.#askForLess(thrown);
      // The platform may no longer know a cursor saved long ago; a cursor from this pass is known.
      const isOldCursor = this.#pages > 0 && this.#pages === this.state.pages;
      if (thrown.code !== "PLATFORM_REJECTED" || !isOldCursor) throw thrown;
      const { syncs, clock } = this.#context;
      await syncs.begin(this.state.profile, newSyncId(clock.wallMs()), "restart", this.state.startedBy);
      return again;
    }
  }

  get #pageLimit(): number | undefined {
    return this.state.pageLimit ?? this.#account.pageLimit;
  }

  async #readPages(): Promise<void> {
    const { client, wording } = this.#account;
    const { syncs, inventory, clock } = this.#context;
    const facts = await inventory.facts(this.state.profile);
    const quiet = this.#otherFields(facts);
    await syncs.forgetOldClaims(this.state.profile);
    const input = { lastEvaluatedKey: this.state.cursor, limit: this.#pageLimit };
    const list = wording === "sims" ? listSims : listSubscribers;
    let sent = Promise.withResolvers<void>();
    // What the sync before has found tells how many pages are left; a first sync cannot know.
    let [seen, pagesLeft] = [this.state.sims, -1];
    const onSending = (): void => sent.resolve();
    const pages = client.pages(list, input, { signal: this.#signal, onSending, backlog: () => pagesLeft });
    let knownMs = await syncs.nowMs();
    let asked = askFor(pages, knownMs);
    for (;;) {
      const { done, value: page } = await asked.page;
      if (done) return;
      this.#signal.throwIfAborted();
      const { asOfMs } = asked;
      sent = Promise.withResolvers();
      asked = askFor(pages, knownMs);
      // Comparing blocks this thread, so let the request be sent first; but do not wait for a spent quota.
      await Promise.race([sent.promise, clock.sleep(sendingMs)]);
      await yieldToEventLoop();
      const taken = await syncs.takePage(this.state.profile, {
        syncId: this.state.syncId,
        pagesBefore: this.#pages,
        sims: this.#listed(page.items),
        nextKey: page.nextKey,
        asOfMs,
        quiet,
      });
      if (taken === undefined) return; // another process has taken over the sync
      knownMs = taken;
      seen += page.items.length;
      if (facts.isComplete) pagesLeft = Math.max(1, Math.ceil((facts.known - seen) / Math.max(1, page.items.length)));
      this.#pages += 1;
    }
  }

  /** Fields that only one of this sync and the previous one stores; their appearance or absence is not a change. */
  #otherFields({ isComplete, fields }: Pick<InventoryFacts, "isComplete" | "fields">): string[] {
    const own = this.#account.selection.fields;
    return isComplete ? [...own, ...fields].filter((name) => own.includes(name) !== fields.includes(name)) : [];
  }

  #listed(records: readonly SimRecord[]): ListedSims {
    const { wording, selection } = this.#account;
    const keyColumn = keyColumnOf(wording);
    const isKey = wording === "sims" ? isSimId : isImsi;
    const keyOf = (record: SimRecord) => String(record[keyColumn]);
    const listed = records.filter((record) => isKey(keyOf(record)));
    return { keys: listed.map(keyOf), linesOf: (place) => encodeRecord(listed[place] ?? {}, selection) };
  }

  /** Retries with half the page size; if the page does not get smaller, the sync fails. */
  async #askForLess(fault: PlatformError): Promise<SyncResult> {
    const limit = this.#pageLimit;
    if (limit === 1) {
      return giveUp(
        `${fault.message} Even a page of one SIM is too large: check that the platform accepts the parameter limit.`,
      );
    }
    const shorter = limit === undefined ? firstShorterLimit : Math.floor(limit / 2);
    await this.#context.syncs.shortenPages(this.state, shorter);
    return again;
  }
}

/** Asks for the next page. @param asOfMs a time of Redis's clock before the request */
function askFor(pages: AsyncGenerator<Page<SimRecord[]>, void>, asOfMs: number) {
  const page = pages.next();
  page.catch(() => undefined); // awaited later, or not at all if storing the previous page fails
  return { page, asOfMs };
}
