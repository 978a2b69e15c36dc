/**
 * The check after a wave of a run has soaked: SIMs it changed are read again, and the share that meets the gate decides
 * whether the next wave opens or the run pauses. Each result is stored at once: a killed check reads no SIM twice.
 */
import type { Kernel } from "#kernel/kernel.ts";
import { PlatformError, SimfleetError } from "#core/errors.ts";
import type { Interruption, JobResult } from "#engine/queue/job-result.ts";
import { secondMs, systemClock } from "#core/time.ts";
import { matches } from "#fleet/filter.ts";
import { type Gate, parseGate } from "#fleet/waves.ts";
import type { OpenInventory } from "#jobs/inventory/service.ts";
import { type KnownSim, fieldTextOf, seenSim } from "#jobs/inventory/records/sim-record.ts";
import { type WaveCheck, percent } from "../contract.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { type StoredRow, isCallable } from "../ledger/packing.ts";
import type { RunRecord } from "../ledger/run-record.ts";
import type { JobReference } from "./queue.ts";
import { later, resultOf } from "./row-call.ts";

interface CheckDeps extends Pick<Kernel, "account"> {
  readonly ledger: Ledger;
  readonly inventory: OpenInventory;
  /** Starts the undo of a run once. @returns its run id */
  readonly undo: (run: RunRecord) => Promise<string>;
}

/** @param signal aborts when this process stops or has lost the job */
export async function checkWave(
  at: Extract<JobReference, { wave: number }>,
  deps: CheckDeps,
  signal: AbortSignal,
): Promise<JobResult> {
  const [run] = await deps.ledger.read([at.runId]);
  if (run?.state !== "running" || run.wave !== at.wave || run.soakUntilMs === undefined) return { kind: "parked" };
  const leftMs = run.soakUntilMs - (await deps.inventory.syncs.nowMs());
  if (leftMs > 0) return later(leftMs, "the wave soaks");
  if (run.isHeld) return later(100, "work on the wave is ending");
  const check = run.waves[at.wave]?.judged === 0 ? undefined : await judge(run, deps, signal);
  if (check !== undefined && "kind" in check) return check;
  const reason = check === undefined || check.isHeld ? "" : await reasonOf(run, check, deps);
  await deps.ledger.endWave(run, check, reason);
  return { kind: "finished", hasEndedWave: reason === "" };
}

async function judge(run: RunRecord, deps: CheckDeps, signal: AbortSignal): Promise<WaveCheck | Interruption> {
  const { gate: text = "", sample = 0, minSample = 1 } = run.options.waves ?? {};
  const gate = parseGate(text);
  const rows = await pickSample(run, sample, deps.ledger);
  const stop = await readAgain(run, rows, { ...deps, gate, signal });
  if (stop !== undefined) return stop;
  const isMet = await deps.ledger.noteGate(run);
  const after = rows.filter(({ key }) => isMet[key] === "1").length;
  const before = rows.filter(({ met }) => met).length;
  const isHeld = rows.length >= minSample && after * 100 >= rows.length * gate.minPercent;
  const lost = rows.flatMap(({ key, met }) => (met === true && isMet[key] !== "1" ? [key] : []));
  return { judged: rows.length, before, after, isHeld, lost: lost.slice(0, 20) };
}

/** Rows that the wave has done, evenly from all of its rows: the same ones whenever it is asked. */
async function pickSample(run: RunRecord, sample: number, ledger: Ledger): Promise<readonly StoredRow[]> {
  const done: StoredRow[] = [];
  const { end = 0 } = run.waves[run.wave] ?? {};
  for (let segment = run.waves[run.wave - 1]?.end ?? 0; segment < end; segment += 1) {
    const { rows, settled } = await ledger.segment(run, segment);
    done.push(...rows.filter((row, place) => isCallable(row) && settled.get(place)?.outcome === "done"));
  }
  const placeOf = (i: number): number => Math.floor((i * sample) / done.length);
  return done.length <= sample ? done : done.filter((_, i) => placeOf(i) !== placeOf(i - 1));
}

/** Reads SIMs, by a sync if one cannot be read alone, and notes which meet the gate. @returns why that is not over */
async function readAgain(
  run: RunRecord,
  rows: readonly StoredRow[],
  { ledger, inventory, account, gate, signal }: CheckDeps & { readonly gate: Gate; readonly signal: AbortSignal },
): Promise<Interruption | undefined> {
  const { profile, operations, soakUntilMs = 0 } = run;
  const known = await ledger.noteGate(run);
  const open = rows.map(({ key }) => key).filter((key) => known[key] === undefined);
  const { client, readSim, selection } = account(profile);
  const [{ keyColumn }] = operations;
  const note = (key: string, sim: KnownSim | undefined): Promise<unknown> => {
    const isListed = sim !== undefined && sim.goneAtMs === undefined;
    const valueOf = (field: string): string | undefined => (field === keyColumn ? key : fieldTextOf(sim, field));
    return ledger.noteGate(run, { [key]: isListed && matches(gate.filter, valueOf, systemClock.wallMs()) ? 1 : 0 });
  };
  if (readSim === undefined) {
    const stop = open.length === 0 ? undefined : await inventory.syncSince(profile, soakUntilMs, signal);
    if (stop === undefined) for (const key of open) await note(key, await inventory.store.sim(profile, key));
    return stop;
  }
  for (const key of open) {
    try {
      const record = await client.call(readSim, { key }, { signal, backlog: () => open.length });
      await note(key, seenSim(record, selection));
    } catch (thrown) {
      if (signal.aborted) return { kind: "handed-back" };
      if (!(thrown instanceof PlatformError)) throw thrown;
      const { kind } = resultOf(thrown);
      const stop = later(thrown.retryAfterMs ?? 5 * secondMs, thrown.message);
      if (kind !== "rejected") return kind === "refused" ? { ...stop, refusal: thrown } : stop;
      await note(key, undefined);
    }
  }
  return undefined;
}

/** Why the run pauses; with the undo of the run, where that is wanted. */
async function reasonOf(run: RunRecord, check: WaveCheck, { undo }: CheckDeps): Promise<string> {
  const { wave, waves, options } = run;
  const { judged, before, after, lost } = check;
  const few = judged < (options.waves?.minSample ?? 1) ? ", too few to judge" : "";
  const named = lost.length === 0 ? "" : `; no longer: ${lost.slice(0, 3).join(", ")}${lost.length > 3 ? ", …" : ""}`;
  const shares = `${after} of ${judged} SIMs meet it (${percent(after, judged)})${few}, ${before} before (${percent(before, judged)})`;
  const found = `wave ${wave + 1} of ${waves.length} does not hold the gate ${options.waves?.gate ?? ""}: ${shares}${named}`;
  if (options.waves?.onFailure !== "undo") return `${found}. Undo it with: simfleet runs undo ${run.runId}`;
  try {
    return `${found}. Run ${await undo(run)} undoes it`;
  } catch (thrown) {
    if (!(thrown instanceof SimfleetError)) throw thrown;
    return `${found}. It could not be undone: ${thrown.message}`;
  }
}
