/**
 * The state of the simulated account: SIMs, Credential Sets, groups and call counts. Quotas, pairs and faults are
 * stored outside the sandbox. A test reads this after a run to verify what arrived.
 */
import type { SandboxOptions } from "./options.ts";
import { credentialSets, groups } from "./account/credentials.ts";
import type { SimRecord } from "./sims/sim-records.ts";
import { type Effects, Sims } from "./sims/sims.ts";
import { usageExports } from "./sims/usage.ts";

export type SandboxState = ReturnType<typeof openState>;

export function openState(options: SandboxOptions) {
  const sims = new Sims(options);
  const totals = {
    /** Calls that reached the sandbox, including those affected by a fault or rejected by a quota. */
    calls: 0,
    /** Responses with status 429. */
    throttled: 0,
    /** Calls by operation (`updateSimSpeedClass`); an unsupported method on a known path counts as `none`. */
    byOperation: {} as Record<string, number>,
    /** Responses by status, as intended by the sandbox. */
    byStatus: {} as Record<number, number>,
  };

  /** The position of a SIM in the list, removed or not, by its SIM id or IMSI. */
  const placeOf = (id: string): number | undefined => sims.placeOfSimId(id) ?? sims.placeOfImsi(id);

  const read = <T>(id: string, of: (place: number) => T): T | undefined => {
    const place = placeOf(id);
    return place === undefined ? undefined : of(place);
  };

  return {
    sims,
    credentials: credentialSets(options),
    groups: groups(options),
    exports: usageExports(options, sims),
    totals,
    placeOf,

    /** The class of a SIM by its SIM id or IMSI, or undefined when there is no such SIM. */
    speedClassOf: (id: string): string | undefined => read(id, (place) => sims.speedClassAt(place)),

    /** Number of class changes applied to a SIM; 0 for one that does not exist. */
    acceptedChanges: (id: string): number => read(id, (place) => sims.acceptedAt(place)) ?? 0,

    /** How often each operation took effect on a SIM, by SIM id or IMSI, also without a response, by a fault. */
    effectsOn: (id: string): Effects => read(id, (place) => sims.effectsAt(place)) ?? {},

    /** The record of a SIM by its SIM id or IMSI. */
    recordOf: (id: string): SimRecord | undefined => read(id, (place) => sims.recordAt(place)),

    /** Whether the SIM exists and is not removed; the other queries include removed SIMs. */
    isListed: (id: string): boolean => read(id, (place) => sims.isListedAt(place)) ?? false,

    countCall(operation: string): void {
      totals.calls += 1;
      totals.byOperation[operation] = (totals.byOperation[operation] ?? 0) + 1;
    },

    countAnswer(status: number): void {
      if (status === 429) totals.throttled += 1;
      totals.byStatus[status] = (totals.byStatus[status] ?? 0) + 1;
    },

    /** Restores the initial state. */
    reset(): void {
      Object.assign(this, openState(options));
    },
  };
}
