/** A guard that counts no deaths, for work in a process that the test does not kill. */
import type { PoisonGuard } from "#engine/poison-guard.ts";

export const noGuard: Pick<PoisonGuard, "run" | "runAlone"> = {
  run: (_, work) => work(),
  runAlone: (_, work) => work(),
};
