/**
 * Finds the runs that have a row for a SIM, newest first. There is no index: a run may have a million rows, and few people
 * ask. The rows of runs are scanned instead, up to a bound for each page.
 */
import type { SimRun } from "../contract.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { operationOf } from "../ledger/packing.ts";
import type { RunRecord } from "../ledger/run-record.ts";
import { rowResults } from "./results.ts";
import { rowReport } from "./row-page.ts";

const runsAtOnce = 20;
/** A page ends after this many rows were scanned, whether they match or not. */
const maxScanned = 500_000;

/** @throws SimfleetError RUN_NOT_FOUND for an invalid cursor */
export async function runsOfSim(
  key: string,
  ledger: Ledger,
  query: { profile: string; limit: number; cursor?: string | undefined },
): Promise<{ runs: SimRun[]; nextCursor: string | null }> {
  const found: SimRun[] = [];
  let scanned = 0;
  let cursor = query.cursor;
  for (;;) {
    const page = await ledger.list({ limit: runsAtOnce, ...(cursor === undefined ? {} : { cursor }) });
    for (const run of page.runs) {
      if (run.profile === query.profile) {
        found.push(...(await rowsIn(run, key, ledger)));
        scanned += run.total;
      }
      if (found.length >= query.limit || scanned >= maxScanned) return { runs: found, nextCursor: run.runId };
    }
    if (page.nextCursor === null) return { runs: found, nextCursor: null };
    cursor = page.nextCursor;
  }
}

async function rowsIn(run: RunRecord, key: string, ledger: Ledger): Promise<SimRun[]> {
  const found: SimRun[] = [];
  for (const index of await ledger.rowsOf(run, key)) {
    for await (const result of rowResults(run, ledger, index)) {
      const { runId, name, state, createdAtMs } = run;
      const createdAt = new Date(createdAtMs).toISOString();
      const operation = operationOf(run, result.row).name;
      found.push({ runId, name, state, createdAt, operation, ...rowReport(run, result) });
      break;
    }
  }
  return found;
}
