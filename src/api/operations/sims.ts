/**
 * The operations of the Sim group in both variants of the interface (section 4): `sims` with `simId`, and the older
 * `subscribers` with `imsi`. Fields that the interface does not show pass through.
 */
import { z } from "zod";
import type { AnswerSchema, Operation } from "./operation.ts";

export interface ListInput {
  /** Start of the page: the key that the previous page returned; absent for the first page. */
  readonly lastEvaluatedKey?: string | undefined;
  /** Maximum number of records per response; the platform's default and maximum are unknown. */
  readonly limit?: number | undefined;
}

const shown = {
  simId: z.string().nullish(),
  imsi: z.string().nullish(),
  speedClass: z.string().nullish(),
};

/** Validates in place, without a copy: records are many, few of their fields are read. @param schema tells the fault */
export function inPlace<T>(isRight: (value: unknown) => boolean, schema: z.ZodType<T>): AnswerSchema<T> {
  return { safeParse: (value) => (isRight(value) ? { success: true, data: value as T } : schema.safeParse(value)) };
}

export const recordSchema = z.looseObject(shown);

/** The known fields of a SIM record; all other fields are kept under their own names. */
export type SimRecord = Readonly<z.output<typeof recordSchema>>;

/** A SIM's record as the response to a change. */
export const simRecord = inPlace<SimRecord>(isSimRecord, recordSchema);

/** The query of a paginated list. */
export function pageQuery(input: ListInput): Record<string, string | undefined> {
  return { limit: input.limit?.toString(), last_evaluated_key: input.lastEvaluatedKey };
}

const listing = {
  method: "GET",
  quota: { group: "Sim" },
  authenticated: true,
  replay: "safe",
  successStatuses: [200],
  query: pageQuery,
} as const;

/** @param key the field that identifies a SIM */
function recordsWith(key: "simId" | "imsi"): z.ZodType<SimRecord[]> {
  const schema = z.looseObject({ ...shown, [key]: z.string() });
  return z.custom<SimRecord[]>().superRefine((value: unknown, context) => {
    if (!Array.isArray(value)) return context.addIssue("is not a list");
    // The first wrong one says enough: there may be a million.
    const place = value.findIndex((record) => !isSimRecord(record) || typeof record[key] !== "string");
    for (const { path, message } of (place < 0 ? undefined : schema.safeParse(value[place]).error?.issues) ?? []) {
      context.addIssue({ code: "custom", message, path: [place, ...path] });
    }
  });
}

/** Whether a value has the shape of a SIM's record; it is not copied. */
export function isSimRecord(record: unknown): record is SimRecord {
  if (typeof record !== "object" || record === null || Array.isArray(record)) return false;
  // If this were an own field, a careless copy would turn it into a prototype.
  if (Object.hasOwn(record, "__proto__")) Reflect.deleteProperty(record, "__proto__");
  const { simId, imsi, speedClass } = record as SimRecord;
  return isTextOrNone(simId) && isTextOrNone(imsi) && isTextOrNone(speedClass);
}

function isTextOrNone(value: unknown): boolean {
  return value === undefined || value === null || typeof value === "string";
}

export const listSims: Operation<ListInput, SimRecord[]> = {
  ...listing,
  id: "listSims",
  path: "/v1/sims",
  output: recordsWith("simId"),
};

export const listSubscribers: Operation<ListInput, SimRecord[]> = {
  ...listing,
  id: "listSubscribers",
  path: "/v1/subscribers",
  output: recordsWith("imsi"),
};
