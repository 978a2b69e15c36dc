/**
 * Instants that the platform counts in seconds, and inside simfleet milliseconds since the Unix epoch. Those of AuthKeys
 * and Credential Sets come so; those of SIMs and groups come in milliseconds and stay as they are.
 */
import { z } from "zod";

/** The last second of the year 9999: what is beyond it was not counted in seconds. */
const latestSeconds = 253_402_300_799;

/** An instant that a record may lack. */
export const epochSeconds = z
  .number()
  .min(0)
  .max(latestSeconds)
  .nullish()
  .transform((seconds) => (seconds === null || seconds === undefined ? undefined : seconds * 1_000));
