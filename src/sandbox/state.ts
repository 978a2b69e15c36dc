/**
 * What the simulated account holds and what was done to it: SIMs, Credential Sets, groups and counts of calls. Quotas, pairs and
 * faults are kept elsewhere; this is what a test reads after a run to see what really arrived.
 */
import { CredentialSets } from "./credentials.ts";
import { Groups, type GroupsOptions } from "./groups.ts";
import type { SimRecord } from "./sim-records.ts";
import { Sims, type SimsOptions } from "./sims.ts";

export interface Totals {
  /** Calls that reached the sandbox, those struck by a fault or refused by a quota among them. */
  calls: number;
  /** Answers of 429. */
  throttled: number;
  /** Calls by operation (`updateSimSpeedClass`); a method that a path does not know counts as `none`. */
  readonly byOperation: Record<string, number>;
  /** Answers by status, as the sandbox meant to give them. */
  readonly byStatus: Record<number, number>;
}

/** `interface`: the operations that the interface shows; `all`: also those that it names without showing them. */
export const operationSets = ["interface", "all"] as const;
export type OperationSet = (typeof operationSets)[number];

export interface StateOptions extends SimsOptions, GroupsOptions {
  /** What is served. Default interface. */
  readonly operations: OperationSet;
}

export class SandboxState {
  readonly sims: Sims;
  readonly credentials: CredentialSets;
  readonly groups: Groups;
  #totals: Totals = noTotals();

  constructor(options: StateOptions) {
    this.sims = new Sims(options);
    this.credentials = new CredentialSets(options.clock, options.operations === "all" ? "known" : "psk");
    this.groups = new Groups(options);
  }

  get totals(): Totals {
    return this.#totals;
  }

  /** The class of a SIM by its SIM id or IMSI, or undefined when there is no such SIM. */
  speedClassOf(id: string): string | undefined {
    const place = this.placeOf(id);
    return place === undefined ? undefined : this.sims.speedClassAt(place);
  }

  /** How many changes of class were carried out on a SIM; 0 for one that is not there. */
  acceptedChanges(id: string): number {
    const place = this.placeOf(id);
    return place === undefined ? 0 : this.sims.acceptedAt(place);
  }

  /** The record of a SIM by its SIM id or IMSI. */
  recordOf(id: string): SimRecord | undefined {
    const place = this.placeOf(id);
    return place === undefined ? undefined : this.sims.recordAt(place);
  }

  /** Whether the SIM is there and not removed; the other questions are answered of removed SIMs as well. */
  isListed(id: string): boolean {
    const place = this.placeOf(id);
    return place !== undefined && this.sims.isListedAt(place);
  }

  /** The place of a SIM in the list, removed or not, by its SIM id or IMSI. */
  placeOf(id: string): number | undefined {
    return this.sims.placeOfSimId(id) ?? this.sims.placeOfImsi(id);
  }

  countCall(operation: string): void {
    this.#totals.calls += 1;
    this.#totals.byOperation[operation] = (this.#totals.byOperation[operation] ?? 0) + 1;
  }

  countAnswer(status: number): void {
    if (status === 429) this.#totals.throttled += 1;
    this.#totals.byStatus[status] = (this.#totals.byStatus[status] ?? 0) + 1;
  }

  /** As at the start. */
  reset(): void {
    this.sims.reset();
    this.credentials.reset();
    this.groups.reset();
    this.#totals = noTotals();
  }
}

function noTotals(): Totals {
  return { calls: 0, throttled: 0, byOperation: {}, byStatus: {} };
}
