/**
 * Reads the whole fleet through the paginated list into the inventory, and marks SIMs that the list no longer shows as
 * gone. The position is saved with every page, so a sync interrupted by a crash or a spent quota resumes at that page;
 * SIMs are marked only after the last page. Requesting a page and storing the one before overlap.
 */
import type { Page } from "#api/pages.ts";
import { type SimRecord, listSims, listSubscribers } from "#api/operations/sims.ts";
import { PlatformError } from "#core/errors.ts";
import { yieldToEventLoop } from "#core/time.ts";
import { isImsi, isSimId, keyColumnOf } from "#fleet/sim/sim.ts";
import type { Inventory, InventoryFacts } from "./store/inventory.ts";
import { encodeRecord } from "./records/sim-record.ts";
import type { SyncLog, SyncPhase, SyncState } from "./store/sync-record.ts";
import type { Account } from "#api/account.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { faultRules } from "#engine/fault-policy.ts";
import type { Problem } from "#engine/problem.ts";
import { newWorkId } from "#engine/record.ts";
import type { WorkResult } from "#engine/queue/job-result.ts";
import { again, giveUp, runSteps, type StepResult, type Steps } from "#engine/steps.ts";

export interface SyncContext extends Pick<Kernel, "clock" | "account" | "guard"> {
  readonly syncs: SyncLog;
  readonly inventory: Inventory;
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
        return state?.profile === profile ? syncStep(state, context, signal) : undefined;
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

type SyncStep = ReturnType<typeof syncStep>;

/** One step of a sync: reads the list, starting at the saved position, or marks the SIMs that it did not show. */
function syncStep(state: SyncState, context: SyncContext, signal: AbortSignal) {
  const { syncs, clock } = context;
  const { profile, startedBy } = state;
  const account = context.account(profile);
  const pageLimit = state.pageLimit ?? account.pageLimit;
  let { pages } = state;

  /** Retries with half the page size; if the page does not get smaller, the sync fails. */
  const askForLess = async ({ message }: PlatformError): Promise<SyncResult> => {
    if (pageLimit === 1) {
      return giveUp(
        `${message} Even a page of one SIM is too large: check that the platform accepts the parameter limit.`,
      );
    }
    await syncs.shortenPages(state, pageLimit === undefined ? firstShorterLimit : Math.floor(pageLimit / 2));
    return again;
  };

  return {
    state,

    /** Why the next page could not be read; each stored page clears it. */
    get problem(): Problem | undefined {
      return pages === state.pages ? state.problem : undefined;
    },

    /** Marks the SIMs that the list no longer shows. */
    async sweep(): Promise<SyncResult> {
      if (!(await syncs.follow(state))) await syncs.sweep(profile, state, account.selection.fields);
      return again;
    },

    /** Reads the list to its end, or until another process has taken over the sync. */
    async list(): Promise<SyncResult> {
      try {
        await account.identify?.(signal);
        if (await syncs.follow(state)) return again;
        for await (const stored of storedPages(state, context, { limit: pageLimit, signal })) pages = stored;
        return again;
      } catch (thrown) {
        if (signal.aborted || !(thrown instanceof PlatformError)) throw thrown;
        if (thrown.isAnswerTooLarge) return askForLess(thrown);
        // The platform may no longer know a cursor saved long ago; a cursor from this pass is known.
        const isOldCursor = pages > 0 && pages === state.pages;
        if (thrown.code !== "PLATFORM_REJECTED" || !isOldCursor) throw thrown;
        await syncs.begin(profile, newWorkId("s", clock.wallMs(), 3), "restart", startedBy);
        return again;
      }
    },
  };
}

/** Stores page after page, and yields how many are stored. */
async function* storedPages(
  state: SyncState,
  { syncs, inventory, clock, account }: SyncContext,
  { limit, signal }: { limit: number | undefined; signal: AbortSignal },
) {
  const { profile, syncId } = state;
  const { client, wording, selection } = account(profile);
  const facts = await inventory.facts(profile);
  const quiet = otherFields(selection.fields, facts);
  await syncs.releaseOldLocks(profile);
  let sent = Promise.withResolvers<void>();
  // What the sync before has found tells how many pages are left; a first sync cannot know.
  let [seen, pagesLeft] = [state.sims, -1];
  const onSending = (): void => sent.resolve();
  const list = wording === "sims" ? listSims : listSubscribers;
  const input = { lastEvaluatedKey: state.cursor, limit };
  const coming = client.pages(list, input, { signal, onSending, backlog: () => pagesLeft });
  let knownMs = await syncs.nowMs();
  let asked = askFor(coming, knownMs);
  for (let { pages } = state; ;) {
    const { done, value: page } = await asked.page;
    if (done) return;
    signal.throwIfAborted();
    const { asOfMs } = asked;
    sent = Promise.withResolvers();
    asked = askFor(coming, knownMs);
    // Comparing blocks this thread, so let the request be sent first; but do not wait for a spent quota.
    await Promise.race([sent.promise, clock.sleep(sendingMs)]);
    await yieldToEventLoop();
    const { items, nextKey } = page;
    const sims = listedSims(items, { wording, selection });
    const taken = await syncs.takePage(profile, { syncId, pagesBefore: pages, sims, nextKey, asOfMs, quiet });
    if (taken === undefined) return; // another process has taken over the sync
    knownMs = taken;
    seen += items.length;
    if (facts.isComplete) pagesLeft = Math.max(1, Math.ceil((facts.known - seen) / Math.max(1, items.length)));
    pages += 1;
    yield pages;
  }
}

function listedSims(records: readonly SimRecord[], { wording, selection }: Pick<Account, "wording" | "selection">) {
  const keyColumn = keyColumnOf(wording);
  const isKey = wording === "sims" ? isSimId : isImsi;
  const keyOf = (record: SimRecord) => String(record[keyColumn]);
  const listed = records.filter((record) => isKey(keyOf(record)));
  return { keys: listed.map(keyOf), linesOf: (place: number) => encodeRecord(listed[place] ?? {}, selection) };
}

/** Fields that only one of this sync and the previous one stores; their appearance or absence is not a change. */
function otherFields(own: readonly string[], { isComplete, fields }: InventoryFacts): string[] {
  return isComplete ? [...own, ...fields].filter((name) => own.includes(name) !== fields.includes(name)) : [];
}

/** Asks for the next page. @param asOfMs a time of Redis's clock before the request */
function askFor(pages: AsyncGenerator<Page<SimRecord[]>, void>, asOfMs: number) {
  const page = pages.next();
  page.catch(() => undefined); // awaited later, or not at all if storing the previous page fails
  return { page, asOfMs };
}
