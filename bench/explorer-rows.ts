/** Measures every response that the SIM explorer of the dashboard waits for: part f of `npm run bench:inventory`. */
import { homedir } from "node:os";
import { App } from "#kernel/app.ts";
import { features } from "#features.ts";
import { inventory } from "#jobs/inventory/feature.ts";
import { loadConfig } from "#config/load.ts";
import { systemClock } from "#core/time.ts";
import { everySim, parseFilter } from "#fleet/filter.ts";
import { countSims, fieldsOf, maxSorted, newestPage, orderOf, sortedPage } from "#jobs/inventory/sims.ts";
import type { Sims } from "#sandbox/sims/sims.ts";
import { createLogger } from "#telemetry/logger.ts";

type Row = Record<string, string | number>;

/** First and following pages in several orders, searches, and counts. @param env reaches an inventory with these SIMs */
export async function explorerRows(
  env: Readonly<Record<string, string>>,
  { fleet, sims, rounds }: { fleet: Sims; sims: number; rounds: number },
): Promise<Row[]> {
  const config = loadConfig({ env, file: undefined });
  const app = await App.open(config, {
    features,
    env: { ...env, HOME: homedir(), PATH: process.env.PATH },
    logger: createLogger({ level: "silent", destination: process.stderr }),
  });
  const stored = { inventory: app.service(inventory).store, profile: config.profile };
  const all = { presence: "listed", keyColumn: "simId" } as const;
  const table: Row[] = [];
  const measure = async (answer: string, work: () => Promise<number | string>): Promise<void> => {
    const times: number[] = [];
    let found: number | string = 0;
    for (let round = 0; round < rounds; round += 1) {
      const startMs = systemClock.monotonicMs();
      found = await work();
      times.push(systemClock.monotonicMs() - startMs);
    }
    table.push({ answer, found, ms: `${Math.min(...times).toFixed(0)} to ${Math.max(...times).toFixed(0)}` });
  };
  const berlin = "tags.site=berlin and status!=active";
  try {
    for (const [where, sort, search] of [
      ["", undefined, undefined],
      [berlin, undefined, undefined],
      ["", "simId", undefined],
      ["", "-simId", undefined],
      // The records are read and sorted: as many as a list may have.
      ...(sims <= maxSorted ? ([["", "groupId", undefined]] as const) : []),
      ...(sims <= 10 * maxSorted ? ([[berlin, "-imsi", undefined]] as const) : []),
      ["", undefined, fleet.simIdAt(Math.floor(sims / 3)).slice(-7)],
      ["", undefined, fleet.imsiAt(Math.floor(sims / 3))],
      ["", undefined, "nowhere"],
    ] as const) {
      const selection = { ...all, filter: where === "" ? everySim : parseFilter(where), search };
      const order = sort === undefined ? undefined : orderOf(sort);
      const pageFrom = (cursor?: string) =>
        order === undefined
          ? newestPage(stored, selection, { limit: 100, cursor })
          : sortedPage(stored, selection, { order, limit: 100, cursor });
      const what = [
        where,
        sort === undefined ? "" : `sorted by ${sort}`,
        search === undefined ? "" : `search ${search}`,
      ]
        .filter((part) => part !== "")
        .join(", ");
      let cursor: string | null = null;
      await measure(`page: ${what || "all"}`, async () => {
        const page = await pageFrom();
        cursor = page.nextCursor;
        return page.found.length;
      });
      const next: string | null = cursor;
      if (next === null) continue;
      await measure(`next page: ${what || "all"}`, async () => (await pageFrom(next)).found.length);
    }
    for (const where of ["", berlin, "speedClass=s1.fast", "tags.name exists", `imsi!=${fleet.imsiAt(1)}`]) {
      await measure(`count: ${where || "all"}`, async () => {
        const selection = { ...all, filter: where === "" ? everySim : parseFilter(where) };
        const { count, isExact } = await countSims(stored, selection, { clock: systemClock, limitMs: 1_000 });
        return isExact ? count : `${count} or more`;
      });
    }
    await measure("fields and values", async () => (await fieldsOf(stored, "simId")).length);
  } finally {
    await app.close();
  }
  return table;
}
