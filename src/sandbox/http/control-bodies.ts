/** The bodies of the calls that control a running sandbox; unknown members are rejected. */
import { z } from "zod";
import { faultKinds, faultRates } from "../faults.ts";
import { apiGroups } from "../options.ts";

const group = z.enum(apiGroups);
const simId = z.string().min(1).max(100);
const someIds = z.array(simId).min(1).optional();

const faults = z
  .strictObject({
    rates: faultRates.optional(),
    next: z
      .strictObject({
        fault: z.enum(faultKinds),
        count: z.int().min(1).max(100_000).default(1),
        operation: z.string().min(1).max(100).optional(),
      })
      .optional(),
  })
  .refine(({ rates, next }) => rates ?? next, "send `rates`, `next` or both");

const set = z
  .record(z.string(), z.unknown())
  .refine((fields) => Object.keys(fields).length > 0, "`set` must name at least one field");

const fleet = z
  .strictObject({
    add: z.int().min(1).max(1e8).optional(),
    addIds: someIds,
    remove: someIds,
    restore: someIds,
    edit: z
      .array(z.strictObject({ id: simId, set }))
      .min(1)
      .optional(),
  })
  .refine(
    (change) => Object.values(change).some((part) => part !== undefined),
    "send `add`, `addIds`, `remove`, `restore`, `edit` or several of them",
  );

export const controlBodies = {
  faults,
  fleet,
  limits: z.strictObject({ group, limit: z.int().min(0), afterMs: z.number().min(0).default(0) }),
  competitor: z.strictObject({ group, callsPerSecond: z.number().min(0).max(10_000) }),
  credentialsUsed: z.strictObject({ credentialsId: z.string().min(1).max(100) }),
  nothing: z.strictObject({}),
};
