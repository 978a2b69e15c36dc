/** Work on calls that are unsafe to repeat, against a platform of a few lines. */
import type { PlatformClientOptions } from "#api/client-options.ts";
import { getSim } from "#api/operations/described.ts";
import { type Clock, systemClock } from "#core/time.ts";
import type { StoreDeps } from "#engine/move-record.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import type { StoredRow, Tries } from "#jobs/runs/ledger/packing.ts";
import type { RowResult } from "#jobs/runs/results/results.ts";
import { execute } from "#jobs/runs/work/execute.ts";
import type { TestRedis } from "../../support/redis.ts";
import { clientFor, type Handler, startOpenPlatform } from "../../unit/api/support.ts";
import { accountOf } from "../inventory/sync-harness.ts";
import { keptBounds, readResults } from "./run-of.ts";
import { workContext } from "./work-context.ts";

const readSim = getSim({ method: "GET", path: "/v1/sims/{simId}", statuses: [200], group: "Sim" });

export class UnsafeWork {
  readonly ledger: Ledger;
  readonly #collaborators: StoreDeps & { readonly clock: Clock };

  constructor({ redis, keys }: Pick<TestRedis, "redis" | "keys">, clock: Clock = systemClock) {
    this.#collaborators = { redis, keys, bounds: keptBounds, clock };
    this.ledger = new Ledger(this.#collaborators);
  }

  /** Works on segments of a run, by default the first, until their jobs would end. @returns the result of the last */
  async execute(
    runId: string,
    handler: Handler,
    {
      lanes = 1,
      segments = [0],
      signal = new AbortController().signal,
      permits,
    }: {
      readonly lanes?: number;
      /** Worked on one after the other, by one process. */
      readonly segments?: readonly number[];
      readonly signal?: AbortSignal;
      readonly permits?: PlatformClientOptions["permits"];
    } = {},
  ) {
    await using platform = await startOpenPlatform(handler);
    await using client = clientFor(platform.url, permits === undefined ? {} : { permits });
    const account = { ...accountOf(client, "sims"), readSim };
    const context = workContext(this.#collaborators, { lanes, account: () => account });
    const results = [];
    for (const segment of segments) results.push(await execute({ runId, segment }, context, signal));
    const result = results.at(-1);
    return { result, calls: platform.seen.filter(({ path }) => path !== "/v1/auth") };
  }

  rows(runId: string): Promise<RowResult[]> {
    return readResults(this.ledger, runId);
  }

  async triesOf(runId: string): Promise<ReadonlyMap<number, Tries>> {
    return (await this.ledger.segment(await this.ledger.run(runId), 0)).tries;
  }
}

/** A row as a termination has it. */
export function toTerminate(row: StoredRow): StoredRow {
  return { ...row, inputs: [], before: ["active"] };
}
