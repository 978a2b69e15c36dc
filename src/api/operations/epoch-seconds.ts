/**
 * Timestamps that the platform sends in epoch seconds; simfleet uses epoch milliseconds. AuthKeys and Credential Sets
 * use seconds; SIMs and groups use milliseconds and are not converted.
 */
import { z } from "zod";

/** The last second of the year 9999: a larger number is not in seconds. */
const latestSeconds = 253_402_300_799;

/** A timestamp that a record may lack. */
export const epochSeconds = z
  .number()
  .min(0)
  .max(latestSeconds)
  .nullish()
  .transform((seconds) => (seconds === null || seconds === undefined ? undefined : seconds * 1_000));
