/** Waves of plans and runs, as reports have them. */
import { z } from "zod";
import { count, instant } from "#contract/fields.ts";
import { failureActions } from "#fleet/waves.ts";

const check = z.object({
  judged: count.describe("SIMs that were read again"),
  before: count.describe("SIMs among them that met the gate before the wave"),
  after: count.describe("SIMs among them that met it after the wave"),
  isHeld: z.boolean(),
  lost: z.array(z.string()).readonly().describe("the first SIMs that no longer meet it, at most 20"),
});

/** Result of a gate after a wave. */
export type WaveCheck = Readonly<z.infer<typeof check>>;

const ofWave = {
  sims: count.describe("SIMs of the wave that get a call"),
  met: count.describe("SIMs of it that met the gate when the run was planned"),
  judged: count.describe("SIMs of it that are judged after it; 0: the next wave begins without that"),
  check: check.nullable(),
};

export const waves = z.object({
  soakSeconds: z.number(),
  gate: z.string().optional(),
  onFailure: z.enum(failureActions),
  reads: count.describe("SIMs that are read again in all, with a call each, or with a sync after each wave"),
  parts: z.array(z.object(ofWave)),
});

/** The present wave of a run. `checking`: its soak is over, and its SIMs are read again. */
const states = ["running", "soaking", "checking"] as const;
export const wave = z.object({ number: count, of: count, state: z.enum(states), until: instant.nullable() });

/** `93.3%` */
export function percent(part: number, all: number): string {
  return `${((100 * part) / Math.max(1, all)).toFixed(1)}%`;
}
