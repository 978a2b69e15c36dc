/**
 * What happened to SIMs: how often each operation took effect, the statuses that a SIM had, and its sessions. Only SIMs
 * that something happened to are stored. The log is what a test compares with a client's own account, so an effect is
 * counted where it happens, whether or not the answer arrives.
 */
import { dayMs, type SimFacts } from "./sim-records.ts";
import type { Sims } from "./sims.ts";

/** Calls that took effect, by operation. */
export type Effects = Readonly<Record<string, number>>;

/** A SIM's status, speed class and group from a time on. */
export interface StatusEntry {
  /** Epoch milliseconds. */
  readonly time: number;
  readonly status: string;
  readonly speedClass: string;
  readonly groupId?: string;
}

export interface SessionEvent {
  /** Epoch milliseconds. */
  readonly time: number;
  readonly event: "Created" | "Deleted";
  readonly imsi: string;
  readonly imei: string;
}

export class SimLog {
  readonly #sims: Sims;
  readonly #effects = new Map<number, Record<string, number>>();
  readonly #statuses = new Map<number, readonly StatusEntry[]>();
  readonly #sessions = new Map<number, readonly SessionEvent[]>();
  readonly #totals: Record<string, number> = {};

  constructor(sims: Sims) {
    this.#sims = sims;
  }

  /** Counts an effect of an operation other than changes of the speed class, which are counted by `Sims`. */
  countEffect(place: number, operation: string): void {
    const counts = this.#effects.get(place) ?? {};
    counts[operation] = (counts[operation] ?? 0) + 1;
    this.#effects.set(place, counts);
    this.#totals[operation] = (this.#totals[operation] ?? 0) + 1;
  }

  effectsAt(place: number): Effects {
    const changes = this.#sims.acceptedAt(place);
    return { ...(changes > 0 && { updateSimSpeedClass: changes }), ...this.#effects.get(place) };
  }

  get effectTotals(): Effects {
    const changes = this.#sims.acceptedTotal;
    return { ...(changes > 0 && { updateSimSpeedClass: changes }), ...this.#totals };
  }

  /** Stores the SIM's present status, speed class and group if one of them has changed. */
  noteStatus(place: number): void {
    const entries = this.statusesAt(place);
    if (entries !== this.#statuses.get(place)) this.#statuses.set(place, entries);
  }

  /** Oldest first. A change from outside is included from the time of the SIM's last change on. */
  statusesAt(place: number): readonly StatusEntry[] {
    const known = this.#statuses.get(place) ?? firstStatuses(this.#sims.firstFactsAt(place));
    const facts = this.#sims.factsAt(place);
    const present = entryOf(facts, facts.lastModifiedTime);
    return isSame(known.at(-1), present) ? known : [...known, present];
  }

  noteSession(place: number, event: SessionEvent["event"], time: number): void {
    const { imsi, sessionStatus } = this.#sims.factsAt(place);
    const imei = sessionStatus.imei ?? this.#sims.deviceImeiAt(place);
    this.#sessions.set(place, [...this.sessionsAt(place), { time, event, imsi, imei }]);
  }

  /** Oldest first. */
  sessionsAt(place: number): readonly SessionEvent[] {
    const known = this.#sessions.get(place);
    if (known !== undefined) return known;
    const { imsi, sessionStatus, createdTime } = this.#sims.firstFactsAt(place);
    if (!sessionStatus.online) return [];
    return [{ time: createdTime + dayMs, event: "Created", imsi, imei: this.#sims.deviceImeiAt(place) }];
  }
}

/** Every SIM began as ready. */
function firstStatuses(facts: SimFacts): readonly StatusEntry[] {
  const { createdTime, status } = facts;
  const first = entryOf({ ...facts, status: "ready" }, createdTime);
  return status === "ready" ? [first] : [first, entryOf(facts, createdTime + dayMs / 2)];
}

function entryOf({ status, speedClass, groupId }: SimFacts, time: number): StatusEntry {
  return { time, status, speedClass, ...(groupId !== undefined && { groupId }) };
}

function isSame(one: StatusEntry | undefined, other: StatusEntry): boolean {
  return one?.status === other.status && one.speedClass === other.speedClass && one.groupId === other.groupId;
}
