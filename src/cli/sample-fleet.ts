/** A sample fleet for the demo: realistic SIM IDs with a valid Luhn digit, extra columns, three invalid rows. */
import { withLuhnDigit } from "#fleet/sim/sim.ts";
import { csvLine } from "#intake/cell.ts";

const sites = ["Osaka stadium", "Berlin depot", "Lyon, quay 4", "Porto ＆ São João", "Reno yard"];
const speedClasses = ["s1.slow", "s1.standard", "s1.fast"];

/** The SIM ID of the fleet's n-th member: 19 digits. */
export function sampleSimId(n: number): string {
  return withLuhnDigit(`894231${String(100_000_000_000 + n * 7_919).padStart(12, "0")}`);
}

/** @returns the CSV text, and the SIM IDs of its good rows */
export function sampleFleet(rows: number): { csv: string; simIds: string[] } {
  const simIds: string[] = [];
  const lines = [csvLine(["SIM ID", "Speed Class", "site", "asset", "note"])];
  for (let n = 0; n < rows; n += 1) {
    const simId = sampleSimId(n);
    const speedClass = speedClasses[n % speedClasses.length] ?? "s1.slow";
    const spoiled = spoiledCells(n, rows, simId, speedClass);
    if (spoiled === undefined) simIds.push(simId);
    const [id, wanted] = spoiled ?? [simId, speedClass];
    const note = n % 97 === 0 ? 'says "hello"' : "";
    lines.push(csvLine([id, wanted, sites[n % sites.length] ?? "", `asset-${String(n).padStart(5, "0")}`, note]));
  }
  return { csv: lines.join(""), simIds };
}

/** Typical mistakes: a number that a spreadsheet ruined, an empty cell, a class with a typo. */
function spoiledCells(n: number, rows: number, simId: string, speedClass: string): [string, string] | undefined {
  if (n === Math.floor(rows * 0.1)) return ["8.94231E+18", speedClass];
  if (n === Math.floor(rows * 0.4)) return [simId, ""];
  if (n === Math.floor(rows * 0.7)) return [simId, "s1 fast!"];
  return undefined;
}
