/**
 * The state of the simulated account: SIMs, Credential Sets, groups and call counts. Quotas, pairs and faults are
 * stored outside the sandbox. A test reads this after a run to verify what arrived.
 */
import type { SandboxOptions } from "./options.ts";
import { type CredentialSets, type Groups, credentialSets, groups } from "./account/credentials.ts";
import type { SimRecord } from "./sims/sim-records.ts";
import { type Effects, Sims } from "./sims/sims.ts";
import { type UsageExports, usageExports } from "./sims/usage.ts";

export class SandboxState {
  readonly #options: SandboxOptions;
  readonly sims: Sims;
  readonly credentials: CredentialSets;
  readonly groups: Groups;
  readonly exports: UsageExports;
  readonly totals = {
    /** Calls that reached the sandbox, including those affected by a fault or rejected by a quota. */
    calls: 0,
    /** Responses with status 429. */
    throttled: 0,
    /** Calls by operation (`updateSimSpeedClass`); an unsupported method on a known path counts as `none`. */
    byOperation: {} as Record<string, number>,
    /** Responses by status, as intended by the sandbox. */
    byStatus: {} as Record<number, number>,
  };

  constructor(options: SandboxOptions) {
    this.#options = options;
    this.sims = new Sims(options);
    this.credentials = credentialSets(options);
    this.groups = groups(options);
    this.exports = usageExports(options, this.sims);
  }

  /** The class of a SIM by its SIM id or IMSI, or undefined when there is no such SIM. */
  speedClassOf(id: string): string | undefined {
    return this.#read(id, (place) => this.sims.speedClassAt(place));
  }

  /** Number of class changes applied to a SIM; 0 for one that does not exist. */
  acceptedChanges(id: string): number {
    return this.#read(id, (place) => this.sims.acceptedAt(place)) ?? 0;
  }

  /**
   * How often each operation took effect on a SIM, by its SIM id or IMSI, including calls whose response a fault
   * suppressed.
   */
  effectsOn(id: string): Effects {
    return this.#read(id, (place) => this.sims.effectsAt(place)) ?? {};
  }

  /** The record of a SIM by its SIM id or IMSI. */
  recordOf(id: string): SimRecord | undefined {
    return this.#read(id, (place) => this.sims.recordAt(place));
  }

  /** Whether the SIM exists and is not removed; the other queries include removed SIMs. */
  isListed(id: string): boolean {
    return this.#read(id, (place) => this.sims.isListedAt(place)) ?? false;
  }

  /** The position of a SIM in the list, removed or not, by its SIM id or IMSI. */
  placeOf(id: string): number | undefined {
    return this.sims.placeOfSimId(id) ?? this.sims.placeOfImsi(id);
  }

  #read<T>(id: string, read: (place: number) => T): T | undefined {
    const place = this.placeOf(id);
    return place === undefined ? undefined : read(place);
  }

  countCall(operation: string): void {
    this.totals.calls += 1;
    this.totals.byOperation[operation] = (this.totals.byOperation[operation] ?? 0) + 1;
  }

  countAnswer(status: number): void {
    if (status === 429) this.totals.throttled += 1;
    this.totals.byStatus[status] = (this.totals.byStatus[status] ?? 0) + 1;
  }

  /** Restores the initial state. */
  reset(): void {
    Object.assign(this, new SandboxState(this.#options));
  }
}
