/**
 * Logs each piece of work of one kind, such as a run, at its start and end. It compares the reports of the newest ones
 * every few seconds: reading the event feed, with its line per changed SIM, would cost a large run more than this.
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

/**
 * Logs what has changed since the last look; at first only what is in progress.
 * @param read returns the newest ones, the oldest of them first
 * @returns what stops it
 */
export function logActivity(
  read: () => Promise<readonly Activity[]>,
  logger: { info(facts: object, message: string): void; debug(message: string): void },
): () => void {
  let seen: ReadonlyMap<string, string> | undefined;
  const look = async (): Promise<void> => {
    const all = await read();
    for (const { id, state, isOver, facts, what, end } of all) {
      const before = seen?.get(id);
      if (before === state || (isOver && seen === undefined)) continue;
      // Of one that is over already, the end says it all.
      if (before === undefined && !isOver) logger.info(facts, `${what} started`);
      if (isOver) logger.info(facts, `${what} ${end}`);
      else if (before !== undefined) logger.info(facts, `${what} is ${state}`);
    }
    seen = new Map(all.map(({ id, state }) => [id, state]));
  };
  const poll = (): void => {
    look().catch((thrown: unknown) => logger.debug(`activity could not be read: ${messageOf(thrown)}`));
  };
  poll();
  return every(pollIntervalMs, poll);
}
