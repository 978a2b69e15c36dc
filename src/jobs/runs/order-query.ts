/** How rows are to be planned and run, as the query of a request. */
import { z } from "zod";
import { flag, ofProfile } from "#contract/fields.ts";

const orderFields = {
  ...ofProfile,
  operation: z.string().min(1).max(64).optional().describe("what to do to each SIM; default set-speed-class"),
  speedClass: z.string().min(1).max(100).optional().describe("short for set.speedClass"),
  name: z.string().min(1).max(200).optional().describe("a name for the run"),
  partial: flag.describe("process the valid rows even if other rows are invalid"),
  fromResults: flag.describe("take a results file of a run as input, which is refused otherwise"),
  skipUnchanged: flag.describe("skip SIMs that, according to the inventory, the operation would not change"),
  rate: z.coerce.number().int().min(1).optional().describe("maximum number of calls per minute"),
  maxFailures: z
    .string()
    .regex(/^(?:\d{1,9}|(?:100|\d{1,2})(?:\.\d+)?%)$/, "must be a number of rows, or a percentage such as 5%")
    .optional()
    .describe("abort when more rows than this fail: a number or a percentage such as 5%"),
  canary: z.coerce
    .number()
    .int()
    .min(1)
    .optional()
    .describe("process the first n rows, and the rest only if all of them succeed"),
  confirm: z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .describe("the number of SIMs, to confirm an irreversible operation; required for one"),
} as const;

/** The query of rows: the fields, and values for all rows as `set.<input>`. */
export function orderQueryWith<const T extends z.ZodRawShape>(fields: T) {
  return z.looseObject({ ...orderFields, ...fields }).superRefine((query, context) => {
    for (const [name, value] of Object.entries(query)) {
      if (name in orderFields || name in fields) continue;
      if (!/^set\.[A-Za-z][A-Za-z0-9_]{0,63}$/.test(name))
        context.addIssue({ code: "unrecognized_keys", keys: [name] });
      else if (typeof value !== "string" || value.length > 2_000) {
        context.addIssue({ code: "custom", path: [name], message: "must be one text of at most 2,000 characters" });
      }
    }
  });
}

export const orderQuery = orderQueryWith({});

/** How rows are to be planned and run, as the query has it. */
export type OrderQuery = z.output<typeof orderQuery>;
