/**
 * Logs each piece of work of one kind, such as a run, at its start and its end. It compares the reports of the newest ones
 * every few seconds: reading the event feed, which has a line per changed SIM, would cost a large run more than this.
 */
import { messageOf } from "#core/errors.ts";
import { every, secondMs } from "#core/time.ts";

const pollIntervalMs = 5 * secondMs;

export interface Activity {
  readonly id: string;
  readonly state: string;
  readonly isOver: boolean;
  /** Fields of its log lines. */
  readonly facts: object;
  /** `the run` */
  readonly what: string;
  /** The words for its end, after `what`. */
  readonly end: string;
}

interface ActivityLogger {
  info(facts: object, message: string): void;
}

/** @param read returns the newest ones, the oldest of them first. @returns what stops it */
export function logActivity(
  read: () => Promise<readonly Activity[]>,
  logger: ActivityLogger & { debug(message: string): void },
): () => void {
  const log = new ActivityLog(read, logger);
  const poll = (): void => {
    log.poll().catch((thrown: unknown) => logger.debug(`activity could not be read: ${messageOf(thrown)}`));
  };
  poll();
  return every(pollIntervalMs, poll);
}

export class ActivityLog {
  readonly #read: () => Promise<readonly Activity[]>;
  readonly #logger: ActivityLogger;
  /** By id, the last state that was seen. */
  #states = new Map<string, string>();
  #isFirst = true;

  constructor(read: () => Promise<readonly Activity[]>, logger: ActivityLogger) {
    this.#read = read;
    this.#logger = logger;
  }

  /** Logs what has changed since the last time; at first only what is in progress. */
  async poll(): Promise<void> {
    const all = await this.#read();
    for (const one of all) this.#note(one);
    this.#states = new Map(all.map(({ id, state }) => [id, state]));
    this.#isFirst = false;
  }

  #note({ id, state, isOver, facts, what, end }: Activity): void {
    const before = this.#states.get(id);
    if (before === state || (isOver && this.#isFirst)) return;
    // Of one that is over already, the end says it all.
    if (before === undefined && !isOver) this.#logger.info(facts, `${what} started`);
    if (isOver) this.#logger.info(facts, `${what} ${end}`);
    else if (before !== undefined) this.#logger.info(facts, `${what} is ${state}`);
  }
}
