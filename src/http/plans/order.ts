/** Converts the query of a request for a plan or a run into options of the service. */
import { z } from "zod";
import type { App } from "#app/app.ts";
import type { Config } from "#config/config.ts";
import { SimfleetError } from "#core/errors.ts";
import type { FailureLimit, RunOptions } from "#fleet/run.ts";
import type { Plan } from "#jobs/runs/plan/plan.ts";
import type { Filter } from "#fleet/filter.ts";
import { flag, ofProfile } from "#contract/fields.ts";

const orderQuery = {
  ...ofProfile,
  speedClass: z.string().min(1).max(100).optional().describe("one class for all rows of a file of ids only"),
  name: z.string().min(1).max(200).optional().describe("a name for the run"),
  partial: flag.describe("process only the valid rows of a file with invalid ones"),
  skipUnchanged: flag.describe("skip SIMs that already have the class, by the inventory"),
  rate: z.coerce.number().int().min(1).optional().describe("maximum number of calls per minute"),
  maxFailures: z
    .string()
    .regex(/^(?:\d{1,9}|(?:100|\d{1,2})(?:\.\d+)?%)$/, "has to be a number of rows, or a share such as 5%")
    .optional()
    .describe("abort when more rows than this fail: a number or a percentage such as 5%"),
  canary: z.coerce.number().int().min(1).optional().describe("do the first n rows, and the rest only if they hold"),
} as const;

export const planQuery = z.strictObject(orderQuery);
export const runQuery = z.strictObject({
  ...orderQuery,
  planId: z.string().optional().describe("start what was planned"),
});

/** Where rows come from. */
export type Origin = { readonly path: string } | { readonly filter: Filter };

/** How they are to be planned and run. */
export interface Order {
  readonly profile: string;
  readonly speedClass: string | undefined;
  readonly name: string | undefined;
  readonly options: RunOptions;
}

/** @throws SimfleetError NOT_FOUND when there is no such profile */
export function orderOf(query: z.output<typeof planQuery>, deps: { readonly config: Config }): Order {
  const { profile, speedClass, name, partial, skipUnchanged, rate, maxFailures, canary } = query;
  return {
    profile: profileOf(profile, deps),
    ...{ speedClass, name },
    options: {
      partial: partial === "true",
      skipUnchanged: skipUnchanged === "true",
      ...(maxFailures === undefined ? {} : { maxFailures: failureLimitOf(maxFailures) }),
      ...(canary === undefined ? {} : { canary }),
      ...(rate === undefined ? {} : { callsPerMinute: rate }),
    },
  };
}

function failureLimitOf(text: string): FailureLimit {
  const amount = Number.parseFloat(text);
  return text.endsWith("%") ? { percent: amount } : { rows: amount };
}

/** Plans rows as an order says. @throws IntakeError, SimfleetError USAGE */
export function planFor(
  order: Order,
  from: Origin,
  { app, config }: { readonly app: App; readonly config: Config },
): Promise<Plan> {
  const { profile, speedClass, options } = order;
  return app.runs.plan({
    ...{ from, profile, speedClass, skipUnchanged: options.skipUnchanged, callsPerMinute: options.callsPerMinute },
    wording: app.wordingOf(profile),
    bucket: app.bucketOf(profile),
    knownSpeedClasses: config.deployment.speedClasses,
  });
}

/**
 * The profile that a request is about: the one it names, else the configuration's.
 * @throws SimfleetError NOT_FOUND
 */
export function profileOf(named: string | undefined, { config }: { readonly config: Config }): string {
  if (named === undefined) return config.profile;
  if (Object.hasOwn(config.profiles, named)) return named;
  const known = Object.keys(config.profiles).join(", ");
  throw new SimfleetError("NOT_FOUND", `There is no profile ${named}; known: ${known}`);
}
