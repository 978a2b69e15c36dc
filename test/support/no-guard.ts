/** A guard that counts no deaths, for work in a process that the test does not kill. */
import type { PoisonGuard } from "#engine/poison-guard.ts";

export const noGuard: PoisonGuard = {
  run: (_, work) => work(),
  runAlone: (_, work) => work(),
  close: () => Promise.resolve(),
};
