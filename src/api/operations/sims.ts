/**
 * The operations of the Sim group in both wordings of the interface (section 4): `sims` with `simId`, and the earlier
 * `subscribers` with `imsi`. Fields that the interface does not show pass through unread.
 */
import { z } from "zod";
import { isImsi, isSimId, keyColumnOf, type Wording } from "#fleet/sim.ts";
import { RecordList, type RecordOptions } from "../record-list.ts";
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

/**
 * A list may have thousands of records, of which little is read: they are looked at where they are, not copied.
 * @param key the field that names a SIM
 */
function recordsWith(key: "simId" | "imsi"): z.ZodType<SimRecord[]> {
  const schema = recordWith(key);
  return z.custom<SimRecord[]>().superRefine((value: unknown, context) => {
    if (!Array.isArray(value)) {
      context.addIssue({ code: "custom", message: "is no list" });
      return;
    }
    for (const [place, record] of value.entries()) {
      if (isRecordWith(record, key)) continue;
      // The schema says where the fault is.
      for (const { path, message } of schema.safeParse(record).error?.issues ?? []) {
        context.addIssue({ code: "custom", message, path: [place, ...path] });
      }
      return;
    }
  });
}

function recordWith(key: "simId" | "imsi"): z.ZodType {
  return z.looseObject({ ...shown, [key]: z.string() });
}

function isRecordWith(record: unknown, key: "simId" | "imsi"): boolean {
  if (typeof record !== "object" || record === null || Array.isArray(record)) return false;
  // Of an own field of this name, a careless copy would make a prototype.
  if (Object.hasOwn(record, "__proto__")) Reflect.deleteProperty(record, "__proto__");
  const { simId, imsi, speedClass, [key]: name } = record as Record<string, unknown>;
  return typeof name === "string" && isTextOrNone(simId) && isTextOrNone(imsi) && isTextOrNone(speedClass);
}

function isTextOrNone(value: unknown): boolean {
  return value === undefined || value === null || typeof value === "string";
}

export const listSims: Operation<ListInput, SimRecord[]> = {
  ...listing,
  id: "listSims",
  path: "/v1/sims",
  successStatuses: [200],
  query: pageQuery,
  output: recordsWith("simId"),
};

export const listSubscribers: Operation<ListInput, SimRecord[]> = {
  ...listing,
  id: "listSubscribers",
  path: "/v1/subscribers",
  successStatuses: [200],
  query: pageQuery,
  output: recordsWith("imsi"),
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

/** The list of a profile's wording, of which each record is only parsed when it is asked for. */
export function recordsIn(wording: Wording, secrets: ReadonlySet<string>): Operation<ListInput, RecordList<SimRecord>> {
  const key = keyColumnOf(wording);
  const list = wording === "sims" ? listSims : listSubscribers;
  const schema = recordWith(key);
  const storeDeps: RecordOptions<SimRecord> = {
    operation: list.id,
    key,
    secrets,
    faultIn: (record) =>
      isRecordWith(record, key) ? undefined : (schema.safeParse(record).error?.issues[0]?.path.join(".") ?? "record"),
  };
  return {
    ...list,
    quickly: (body) => RecordList.read(storeDeps, body),
    output: list.output.transform((records) => RecordList.of(storeDeps, records)),
  };
}
