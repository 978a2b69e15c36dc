/** Sample rows: distinct SIMs, each with one of three classes. */
import { sampleSimId } from "#jobs/runs/commands/demo.ts";

const speedClasses = ["s1.slow", "s1.standard", "s1.fast"];

export function sampleRows(count: number): { csv: string; simIds: string[] } {
  const simIds = Array.from({ length: count }, (_, n) => sampleSimId(n));
  const lines = simIds.map((simId, n) => `${simId},${speedClasses[n % speedClasses.length]},asset-${n}\n`);
  return { csv: `simId,speedClass,asset\n${lines.join("")}`, simIds };
}
