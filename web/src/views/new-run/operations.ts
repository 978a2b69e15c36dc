/** The SIM operations of the platform definition, as a profile uses them. They change only with the configuration. */
import { addressOf } from "../../ask.ts";
import { type Live, useLive } from "../../live.ts";
import type { OperationReport } from "../../pure/shapes.ts";

export function useOperations(profile: string | undefined): Live<{ readonly operations: readonly OperationReport[] }> {
  return useLive(profile === undefined ? undefined : addressOf("/v1/operations", { profile }), { ms: 300_000 });
}
