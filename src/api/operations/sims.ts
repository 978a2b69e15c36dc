/**
 * The operations of the Sim group in both wordings of the interface (section 4): `sims` with `simId`, and the earlier
 * `subscribers` with `imsi`. Fields that the interface does not show pass through unread.
 */
import { z } from "zod";
import { isImsi, isSimId, type Wording } from "#fleet/sim.ts";
import type { Operation } from "./operation.ts";

export interface ListInput {
  /** Where to go on: the key that the previous page gave; absent for the first page. */
  readonly lastEvaluatedKey?: string | undefined;
  /** Most records in one answer; the platform's default and maximum are not known. */
  readonly limit?: number | undefined;
}

export interface SpeedClassInput {
  /** The SIM ID, or the IMSI in the earlier wording. */
  readonly key: string;
  readonly speedClass: string;
}

/** What is known of a SIM's record; everything else in it is kept under its own name. */
export interface SimRecord {
  readonly simId?: string | null | undefined;
  readonly imsi?: string | null | undefined;
  readonly speedClass?: string | null | undefined;
  readonly [field: string]: unknown;
}

export type ChangedSim = SimRecord & { readonly speedClass: string };

const shown = {
  simId: z.string().nullish(),
  imsi: z.string().nullish(),
  speedClass: z.string().nullish(),
};

const listing = {
  method: "GET",
  quota: { group: "Sim" },
  authenticated: true,
  replay: "safe",
} as const;
const change = {
  method: "POST",
  quota: { group: "Sim" },
  authenticated: true,
  replay: "safe",
} as const;

/** The query of a list that comes in pages. */
export function pageQuery(input: ListInput): Record<string, string | undefined> {
  return { limit: input.limit?.toString(), last_evaluated_key: input.lastEvaluatedKey };
}

export const listSims: Operation<ListInput, SimRecord[]> = {
  ...listing,
  id: "listSims",
  path: "/v1/sims",
  successStatuses: [200],
  query: pageQuery,
  output: z.array(z.looseObject({ ...shown, simId: z.string() })),
};

export const listSubscribers: Operation<ListInput, SimRecord[]> = {
  ...listing,
  id: "listSubscribers",
  path: "/v1/subscribers",
  successStatuses: [200],
  query: pageQuery,
  output: z.array(z.looseObject({ ...shown, imsi: z.string() })),
};

/** Setting the class that a SIM already has changes nothing, so a lost answer is safely asked for again. */
export const updateSimSpeedClass: Operation<SpeedClassInput, ChangedSim> = {
  ...change,
  id: "updateSimSpeedClass",
  path: "/v1/sims/{simId}/update_speed_class",
  parameters: [{ name: "simId", isAllowed: isSimId, of: (input) => input.key }],
  successStatuses: [200],
  body: ({ speedClass }) => ({ speedClass }),
  output: z.looseObject({ ...shown, speedClass: z.string() }),
};

export const updateSubscriberSpeedClass: Operation<SpeedClassInput, ChangedSim> = {
  ...change,
  id: "updateSubscriberSpeedClass",
  path: "/v1/subscribers/{imsi}/update_speed_class",
  parameters: [{ name: "imsi", isAllowed: isImsi, of: (input) => input.key }],
  successStatuses: [200],
  body: ({ speedClass }) => ({ speedClass }),
  output: z.looseObject({ ...shown, speedClass: z.string() }),
};

/** The two operations of a profile's wording. */
export function simOperations(wording: Wording): {
  readonly list: Operation<ListInput, SimRecord[]>;
  readonly updateSpeedClass: Operation<SpeedClassInput, ChangedSim>;
} {
  return wording === "sims"
    ? { list: listSims, updateSpeedClass: updateSimSpeedClass }
    : { list: listSubscribers, updateSpeedClass: updateSubscriberSpeedClass };
}
