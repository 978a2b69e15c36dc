/**
 * The waves of a run: its SIMs in several parts, each larger than the last. Between two of them the run soaks, and a
 * gate, a condition on the SIMs of the wave, decides whether the next one starts.
 */
import { SimfleetError } from "#core/errors.ts";
import { parsePeriod } from "#core/ago.ts";
import { parseFilter } from "./filter.ts";

export const failureActions = ["pause", "undo"] as const;

/** The options of waves as users write them (docs/change-sims.md). */
export interface WrittenWaves {
  readonly waves?: string | undefined;
  readonly soak?: string | undefined;
  readonly gate?: string | undefined;
  readonly minSample?: number | undefined;
  readonly sample?: number | undefined;
  readonly onFailure?: (typeof failureActions)[number] | undefined;
  readonly canary?: number | undefined;
}

export type Waves = NonNullable<ReturnType<typeof wavesOf>>;
export type Gate = ReturnType<typeof parseGate>;

/** @returns the condition and the share of the SIMs that have to meet it @throws SimfleetError USAGE */
export function parseGate(text: string) {
  const [, condition, percent] = /^(.*\S)\s*>=\s*(\d{1,3}(?:\.\d+)?)\s*%\s*$/s.exec(text) ?? [];
  if (condition !== undefined && Number(percent) <= 100) {
    return { filter: parseFilter(condition), minPercent: Number(percent) };
  }
  const quoted = JSON.stringify(text.slice(0, 200));
  throw fault(`The gate ${quoted} cannot be read; an example: sessionStatus.online=true >= 95%`);
}

/** @returns undefined without waves @throws SimfleetError USAGE for what cannot be read or does not fit together */
export function wavesOf(written: WrittenWaves) {
  const { canary, waves, soak = "0s", gate, minSample, sample, onFailure } = written;
  const text = waves ?? (canary === undefined ? undefined : `${canary},100%`);
  if (canary !== undefined && waves !== undefined) throw fault("A canary is a first wave: give one of the two");
  const ofGate = minSample ?? sample ?? onFailure;
  if (ofGate !== undefined && gate === undefined) throw fault("minSample, sample and onFailure need a gate");
  if (!/^\d{1,4}[smhd]$/.test(soak)) throw fault(`The soak ${JSON.stringify(soak)} has to be a period such as 10m`);
  if (gate !== undefined) parseGate(gate);
  const defaults = { minSample: minSample ?? 1, sample: sample ?? 200, onFailure: onFailure ?? ("pause" as const) };
  if (text !== undefined) return { ends: parseEnds(text), soakMs: parsePeriod(soak), gate, ...defaults };
  if (gate !== undefined || written.soak !== undefined) throw fault("A soak and a gate need waves, such as 20,5%,100%");
  return undefined;
}

function parseEnds(text: string) {
  const parts = text.split(",").map((part) => /^(\d{1,9}(?:\.\d+)?)(%?)$/.exec(part.trim()) ?? []);
  const ends = parts.map(([, amount, unit]) => (unit === "%" ? { percent: Number(amount) } : { rows: Number(amount) }));
  const sharesOf = (of: string): number[] => parts.flatMap(([, amount, unit]) => (unit === of ? [Number(amount)] : []));
  const isRising = ["", "%"].every((of) => sharesOf(of).every((one, i, all) => one > (all[i - 1] ?? 0)));
  const isRead = parts.every(([part]) => part !== undefined) && sharesOf("").every(Number.isInteger);
  const isWhole = parts.at(-1)?.[2] === "%" && sharesOf("%").at(-1) === 100;
  if (isRead && isRising && isWhole) return ends;
  const why = isRead ? (isWhole ? "are not each larger than the last" : "do not end at 100%") : "cannot be read";
  throw fault(`The waves ${JSON.stringify(text.slice(0, 200))} ${why}; an example: 20,5%,100%`);
}

/** How many of so many SIMs are changed when each wave ends. @param ofNoSim what becomes of a wave without own SIMs */
export function waveEnds({ ends }: Waves, sims: number, ofNoSim: "refuse" | "leave-out"): readonly number[] {
  const found: number[] = [];
  for (const end of ends) {
    const last = found.at(-1) ?? 0;
    const count = "rows" in end ? Math.min(end.rows, sims) : Math.ceil((sims * end.percent) / 100);
    if (count > last) found.push(count);
    else if (ofNoSim === "refuse" && last < sims) {
      throw fault(
        `Of ${sims} SIMs, a wave that ends at ${count} would follow one that ends at ${last}: make it larger`,
      );
    }
  }
  return found;
}

function fault(message: string): SimfleetError {
  return new SimfleetError("USAGE", message);
}
