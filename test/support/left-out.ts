/** Tests that need what a machine may lack: where it does, their names say why they are left out. */

export const isRoot = process.geteuid?.() === 0;

/** The end of the name of a test, empty where the test runs. */
export function unless(canRun: boolean, reason: string): string {
  return canRun ? "" : ` (skipped: ${reason})`;
}

export const unlessRoot = unless(isRoot, "it needs root");
