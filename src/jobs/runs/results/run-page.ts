/** Lists runs page by page, newest first, filtered by state and profile. */
import { SimfleetError } from "#core/errors.ts";
import type { RunState } from "#fleet/run.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { RunRecord } from "../ledger/run-record.ts";

const readAtOnce = 100;
/** A page ends after this many runs were scanned, whether they match or not. */
const maxScanned = 2_000;

interface RunQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly state?: RunState | undefined;
  readonly profile?: string | undefined;
}

interface RunPage {
  readonly runs: RunRecord[];
  readonly nextCursor: string | null;
}

/** @throws SimfleetError REQUEST_INVALID for an invalid cursor */
export async function runPage(ledger: Ledger, query: RunQuery): Promise<RunPage> {
  return withValidCursor(query.cursor, () => readPage(ledger, query));
}

/** The ledger's cursors are run ids. @throws SimfleetError REQUEST_INVALID if there is no such run */
export async function withValidCursor<T>(cursor: string | undefined, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (thrown) {
    if (!(thrown instanceof SimfleetError) || thrown.code !== "RUN_NOT_FOUND") throw thrown;
    throw new SimfleetError(
      "REQUEST_INVALID",
      `${JSON.stringify(cursor)} is not a valid cursor: use the nextCursor of the previous page`,
    );
  }
}

async function readPage(ledger: Ledger, query: RunQuery): Promise<RunPage> {
  const { limit, state, profile } = query;
  if (state === undefined && profile === undefined) return ledger.list(pageOf(limit, query.cursor));
  const runs: RunRecord[] = [];
  let cursor = query.cursor;
  for (let scanned = 0; scanned < maxScanned; scanned += readAtOnce) {
    const page = await ledger.list(pageOf(readAtOnce, cursor));
    for (const [at, run] of page.runs.entries()) {
      if ((state !== undefined && run.state !== state) || (profile !== undefined && run.profile !== profile)) continue;
      runs.push(run);
      const isLast = page.nextCursor === null && at === page.runs.length - 1;
      if (runs.length === limit) return { runs, nextCursor: isLast ? null : run.runId };
    }
    if (page.nextCursor === null) return { runs, nextCursor: null };
    cursor = page.nextCursor;
  }
  return { runs, nextCursor: cursor ?? null };
}

function pageOf(limit: number, cursor: string | undefined): { limit: number; cursor?: string } {
  return cursor === undefined ? { limit } : { limit, cursor };
}
