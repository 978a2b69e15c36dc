/**
 * Logs each run and each sync at its start and its end, with its counts. It compares the reports of the newest runs and of
 * the last sync of each profile every few seconds: reading the event feed, which has a line per changed SIM, would cost a
 * large run more than this.
 */
import { messageOf } from "#core/errors.ts";
import { every, secondMs } from "#core/time.ts";
import { isRunOver } from "#fleet/run.ts";
import type { SyncReport } from "#jobs/inventory/contract.ts";
import type { RunReport } from "#jobs/runs/contract.ts";
import type { Logger } from "#telemetry/logger.ts";

const pollIntervalMs = 5 * secondMs;

export interface ActivityDeps {
  /** The newest ones first. */
  readonly runs: () => Promise<readonly RunReport[]>;
  readonly syncs: () => Promise<readonly SyncReport[]>;
  readonly logger: Pick<Logger, "info" | "debug">;
}

/** @returns what stops it */
export function logActivity(deps: ActivityDeps): () => void {
  const log = new ActivityLog(deps);
  const poll = (): void => {
    log.poll().catch((thrown: unknown) => deps.logger.debug(`activity could not be read: ${messageOf(thrown)}`));
  };
  poll();
  return every(pollIntervalMs, poll);
}

export class ActivityLog {
  readonly #deps: ActivityDeps;
  /** By id, the last state that was seen. */
  #states = new Map<string, string>();
  #isFirst = true;

  constructor(deps: ActivityDeps) {
    this.#deps = deps;
  }

  /** Logs what has changed since the last time; at first only what is in progress. */
  async poll(): Promise<void> {
    const [runs, syncs] = await Promise.all([this.#deps.runs(), this.#deps.syncs()]);
    const states = new Map<string, string>();
    for (const run of runs.toReversed()) {
      states.set(run.runId, run.state);
      this.#note(run.runId, run.state, { isOver: isRunOver(run.state), ...runTexts(run) });
    }
    for (const sync of syncs) {
      const isOver = sync.state === "finished" || sync.state === "failed";
      const state = isOver ? sync.state : "running";
      states.set(sync.syncId, state);
      this.#note(sync.syncId, state, { isOver, ...syncTexts(sync) });
    }
    this.#states = states;
    this.#isFirst = false;
  }

  #note(id: string, state: string, work: { isOver: boolean; facts: object; what: string; end: string }): void {
    const before = this.#states.get(id);
    const { isOver, facts, what, end } = work;
    if (before === state || (isOver && this.#isFirst)) return;
    if (before === undefined) this.#deps.logger.info(facts, `${what} started`);
    if (isOver) this.#deps.logger.info(facts, `${what} ${end}`);
    else if (before !== undefined) this.#deps.logger.info(facts, `${what} is ${state}`);
  }
}

function runTexts({ runId, profile, name, counts, state, submittedBy }: RunReport) {
  return { facts: { runId, profile, name, by: submittedBy, ...counts }, what: "the run", end: `ended: ${state}` };
}

function syncTexts({ syncId, profile, state, sims, added, changed, returned, gone, reason }: SyncReport) {
  const facts = { syncId, profile, sims, added, changed, returned, gone, reason };
  return { facts, what: "the sync", end: state };
}
