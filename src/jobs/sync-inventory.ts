/**
 * Reads the whole fleet through the paginated list and keeps it in the inventory. The cursor is saved after every page,
 * so that a sync that is cut short, by a crash or a spent quota, goes on at that page.
 */
import type { PlatformClient } from "#api/client.ts";
import { simOperations } from "#api/operations/sims.ts";
import { PlatformError } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import { type Wording, keyColumnOf } from "#fleet/sim.ts";
import type { Inventory, SyncState } from "#store/inventory.ts";

export interface SyncRequest {
  readonly profile: string;
  readonly wording: Wording;
  readonly client: PlatformClient;
  readonly inventory: Inventory;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Told after every page. */
  readonly onPage: (state: SyncState) => void;
}

/**
 * @returns the state of the finished sync
 * @throws PlatformError; the signal's reason. The cursor is saved: a later sync goes on from it
 */
export async function syncInventory(request: SyncRequest): Promise<SyncState> {
  const { profile, inventory, clock, signal } = request;
  const before = await inventory.syncState(profile);
  let state: SyncState =
    before !== undefined && before.finishedAtMs === undefined
      ? before
      : { startedAtMs: clock.wallMs(), pages: 0, sims: 0 };
  for (;;) {
    try {
      state = await readPages(request, state);
      return state;
    } catch (thrown) {
      const cutShort = await inventory.syncState(profile);
      state = cutShort ?? state;
      if (!(thrown instanceof PlatformError) || thrown.code !== "PLATFORM_THROTTLED") throw thrown;
      await clock.sleep(thrown.retryAfterMs ?? 1_000, signal);
    }
  }
}

async function readPages(request: SyncRequest, start: SyncState): Promise<SyncState> {
  const { profile, wording, client, inventory, clock, signal, onPage } = request;
  const key = keyColumnOf(wording);
  let state = start;
  for await (const page of client.pages(simOperations(wording).list, { lastEvaluatedKey: start.cursor }, { signal })) {
    const seen = page.items.flatMap((record) => {
      const id = record[key];
      return typeof id === "string" ? [{ key: id, speedClass: record.speedClass ?? undefined }] : [];
    });
    await inventory.note(profile, seen);
    const { startedAtMs, pages, sims } = state;
    const counted = { startedAtMs, pages: pages + 1, sims: sims + seen.length };
    state =
      page.nextKey === undefined ? { ...counted, finishedAtMs: clock.wallMs() } : { ...counted, cursor: page.nextKey };
    await inventory.saveSyncState(profile, state);
    onPage(state);
  }
  return state;
}
