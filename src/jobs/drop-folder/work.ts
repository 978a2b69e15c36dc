/**
 * Checks a drop folder once and advances every file as far as possible. The state of a file consists only of its place, its
 * name, and its run in the ledger, so it has no record of the engine: a user can move it, any process can continue after
 * another was killed, and several can watch one folder.
 *   unchanged in the folder     ->  processing/NAME.RUN.csv        renamed; the process that renames it continues at once
 *   no run with this id         ->  submitted with it, or rejected: failed/ with NAME.RUN.problem.txt
 *   the run has ended           ->  done/ or failed/, with NAME.RUN.results.csv
 *   three workers died with it  ->  failed/ with NAME.RUN.problem.txt
 * Another process continues with a claimed file if nothing has happened to it for the settle time. Repeating a step has no
 * effect: the run's id and the event's mark make both unique.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { type PoisonGuard, quarantined, quarantineReason } from "#engine/poison-guard.ts";
import type { EventType } from "#events/event.ts";
import type { Feed } from "#events/feed.ts";
import type { DropFolder } from "./config.ts";
import {
  type FoundFile,
  Folder,
  droppedFileRules,
  type TakenName,
  besideName,
  isInput,
  nameFault,
  readTakenName,
  safeName,
  takenName,
} from "./folder.ts";
import { backoffMs } from "#core/backoff.ts";
import { messageOf, IntakeError, SimfleetError } from "#core/errors.ts";
import { type Clock, secondMs } from "#core/time.ts";
import { isRunSettled } from "#fleet/run.ts";
import { withoutContent } from "#intake/columns.ts";
import type { RunService } from "#jobs/runs/service.ts";
import type { Planned } from "#jobs/runs/plan/plans.ts";
import { exitCodeOf } from "#jobs/runs/report.ts";
import { newRunId } from "#jobs/runs/submit.ts";

type EndedRun = Extract<FileRun, { isOver: true }>;

export interface DropFolderDeps {
  readonly folder: DropFolder;
  readonly runs: FileRuns;
  readonly feed: Pick<Feed, "emitOnce">;
  readonly clock: Clock;
  readonly guard: Pick<PoisonGuard, "run">;
  readonly onIncident: (message: string) => void;
  /** The folder in the file system; by default that of `folder`. */
  readonly files?: Folder;
}

export class DropFolderWork {
  readonly #deps: DropFolderDeps;
  readonly #folder: Folder;
  readonly #stillness: ReturnType<typeof openStillness>;
  readonly #incidents: ReturnType<typeof openIncidents>;
  /** Runs of the files that this process has claimed or continued. */
  readonly #own = new Set<string>();

  constructor(deps: DropFolderDeps) {
    this.#deps = deps;
    this.#folder = deps.files ?? new Folder(deps.folder.path);
    this.#stillness = openStillness(deps.clock, deps.folder.settleMs);
    this.#incidents = openIncidents(deps.clock, (message) => deps.onIncident(this.#folder.readable(message)));
  }

  /** @param signal aborts between two files */
  async round(signal: AbortSignal): Promise<void> {
    try {
      await this.#round(signal);
    } finally {
      await this.#folder.close();
    }
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { path } = this.#folder;
    const processingPath = join(path, "processing");
    let incoming: FoundFile[] = [];
    let processing: FoundFile[] = [];
    const isListed = await this.#incidents.try(path, async () => {
      await this.#folder.open();
      incoming = await this.#folder.list("incoming", isInput);
    });
    if (!isListed) return;
    for (const file of incoming) {
      if (signal.aborted) return;
      if (!this.#stillness.isStill(file.name, file.fingerprint)) continue;
      await this.#incidents.try(file.name, () => this.#take(file));
    }
    await this.#incidents.try(processingPath, async () => {
      processing = await this.#folder.list("processing", (name) => readTakenName(name) !== undefined);
    });
    for (const file of processing) {
      if (signal.aborted) return;
      await this.#incidents.try(inProcessing(file.name), () => this.#goOn(file));
    }
    const names = [...incoming.map(({ name }) => name), ...processing.map(({ name }) => inProcessing(name))];
    this.#stillness.keepOnly(new Set(names));
    this.#incidents.keepOnly(new Set([...names, path, processingPath]));
  }

  async #take(file: FoundFile): Promise<void> {
    const { name, rawName, fingerprint } = file;
    const fault = nameFault(name);
    if (fault !== undefined) return this.#refuseName(file, fault);
    const runId = this.#deps.runs.newRunId();
    const taken = takenName(name, runId);
    if (!(await this.#folder.move(rawName, "incoming", { place: "processing", name: taken }))) return;
    // Another file may have been given this name since the check: that file has not been unchanged for long enough.
    if ((await this.#folder.fingerprint("processing", taken)) === fingerprint) this.#own.add(runId);
  }

  /** Uses a safe name, so that users can find the file; after a crash before the move it is rejected again. */
  async #refuseName({ name, rawName, fingerprint }: FoundFile, fault: string): Promise<void> {
    const { feed, folder, runs, onIncident } = this.#deps;
    const runId = runs.newRunId();
    const original = safeName(name);
    const taken = takenName(original, runId);
    await this.#folder.put({ place: "failed", name: besideName(taken, "problem.txt"), of: runId }, `${fault}\n`);
    const fields = { file: original, run: runId, reason: fault };
    const mark = createHash("sha256").update(rawName).update(fingerprint).digest("hex");
    await feed.emitOnce({ type: "file.refused", profile: folder.profile, fields }, `file.refused:${mark}`);
    await this.#folder.move(rawName, "incoming", { place: "failed", name: taken });
    onIncident(`${original} was rejected and is in failed/ as ${taken}: ${fault}`);
  }

  async #goOn({ name, rawName, fingerprint, oddity }: FoundFile): Promise<void> {
    const file = readTakenName(name);
    if (file === undefined) return;
    if (nameFault(name) !== undefined) {
      await this.#folder.move(rawName, "processing", { place: "processing", name: safeName(name) });
      return;
    }
    const run = await this.#deps.runs.status(file.runId);
    if (run?.isOver === false) return;
    const seen = `${run === undefined ? "no run" : "over"} ${fingerprint}`;
    if (!this.#own.has(file.runId) && !this.#stillness.isStill(inProcessing(name), seen)) return;
    this.#own.add(file.runId);
    const done = await this.#deps.guard.run(`file ${name}`, () => {
      if (run !== undefined) return this.#finish(file, run);
      return oddity === undefined
        ? this.#submit(file, fingerprint)
        : this.#refuse(file, { reason: oddityText(oddity), faults: [] });
    });
    if (done === quarantined) await this.#quarantine(file, run);
  }

  async #submit(file: TakenName, fingerprint: string): Promise<void> {
    const { runs } = this.#deps;
    const { name, runId, original } = file;
    await this.#emit("file.taken", file, {});
    const refusal = await runs.submit(this.#folder.pathOf("processing", name), { runId, name: original });
    if (refusal === undefined) return;
    if ((await this.#folder.fingerprint("processing", name)) !== fingerprint) {
      // The file is still being written, so its rejection may not apply to its final content.
      this.#own.delete(runId);
      return;
    }
    await this.#refuse(file, refusal);
  }

  #refuse(file: TakenName, { reason, faults }: Refusal): Promise<void> {
    const problem = this.#folder.readable([reason, ...faults].map((line) => `${line}\n`).join(""));
    return this.#close(file, "failed", { type: "file.refused", reason: this.#folder.readable(reason), problem });
  }

  /** Like a rejection; after the run has ended, its results are missing. */
  #quarantine(file: TakenName, run: EndedRun | undefined): Promise<void> {
    if (run === undefined) return this.#refuse(file, { reason: quarantineReason, faults: [] });
    const problem = `${quarantineReason}. Results: simfleet runs results ${file.runId}\n`;
    return this.#close(file, "failed", { type: "file.failed", state: run.state, reason: quarantineReason, problem });
  }

  async #finish(file: TakenName, { sha256, isGood, state, reason }: EndedRun): Promise<void> {
    const { name, runId } = file;
    const isWhole = (await this.#folder.digest("processing", name)) === sha256;
    const place = isGood && isWhole ? "done" : "failed";
    const results = { place, name: besideName(name, "results.csv"), of: runId } as const;
    await this.#folder.put(results, this.#deps.runs.results(runId));
    const problem = isWhole ? {} : { reason: writtenLater, problem: `${writtenLater}\n` };
    await this.#close(file, place, { type: place === "done" ? "file.done" : "file.failed", state, reason, ...problem });
  }

  /**
   * Writes the problem next to the file, reports, and moves the file: the last step, since the file is not checked again
   * afterwards.
   */
  async #close(
    file: TakenName,
    place: "done" | "failed",
    { type, state, reason, problem }: { type: EventType; state?: string; reason: string; problem?: string },
  ): Promise<void> {
    const { name, runId } = file;
    if (problem !== undefined) {
      await this.#folder.put({ place, name: besideName(name, "problem.txt"), of: runId }, problem);
    }
    await this.#emit(type, file, { ...(state === undefined ? {} : { state }), ...(reason === "" ? {} : { reason }) });
    await this.#folder.move(name, "processing", { place, name });
    await this.#folder.sweep(runId);
    this.#own.delete(runId);
  }

  /** Called before the step that cannot be repeated, so that a crash in between loses neither. */
  #emit(type: EventType, { runId, original }: TakenName, more: Readonly<Record<string, string>>): Promise<void> {
    const { feed, folder } = this.#deps;
    const fields = { file: original, run: runId, ...more };
    return feed.emitOnce({ type, profile: folder.profile, fields }, `${type}:${runId}`);
  }
}

function oddityText(oddity: NonNullable<FoundFile["oddity"]>): string {
  return `It is ${oddity}, which replaced the file after it was picked up. Nothing of it was read.`;
}

/** Distinguishes a claimed file from one with the same name in the folder itself. */
function inProcessing(name: string): string {
  return `processing/${name}`;
}

const writtenLater =
  "The file was changed after it was picked up: the run processed its previous content. Write to another name and rename the complete file, or raise dropFolder.settleSeconds.";

// Retries failed work with growing delays; reports an error when it first occurs or changes.

const pauses = { baseMs: 2_000, capMs: 60_000 };

function openIncidents(clock: Clock, emit: (message: string) => void) {
  /** `kind` distinguishes errors: the code if there is one, since messages contain file names. */
  const incidents = new Map<string, { readonly kind: string; readonly tries: number; readonly againAtMs: number }>();
  return {
    /** Does the work unless it is delayed; an error is reported and delays the next attempt. @returns whether it succeeded */
    async try(what: string, work: () => Promise<void>): Promise<boolean> {
      const before = incidents.get(what);
      if (before !== undefined && clock.monotonicMs() < before.againAtMs) return false;
      try {
        await work();
        incidents.delete(what);
        return true;
      } catch (thrown) {
        const kind = kindOf(thrown);
        const tries = (before?.tries ?? 0) + 1;
        incidents.set(what, { kind, tries, againAtMs: clock.monotonicMs() + backoffMs(pauses, tries) });
        if (before?.kind !== kind) emit(`${what}: ${messageOf(thrown)} (it is tried again)`);
        return false;
      }
    },
    keepOnly: (names: ReadonlySet<string>): void => forgetOthers(incidents, names),
  };
}

function kindOf(thrown: unknown): string {
  const hasCode = thrown instanceof Error && "code" in thrown && typeof thrown.code === "string";
  return hasCode ? (thrown.code as string) : messageOf(thrown);
}

// Detects when a file is complete: its fingerprint was the same in every poll for long enough. No file system shows whether a
// writer has finished; an unchanged file can be detected on all of them, including network mounts. Only this process's
// clock is used, so the files' times may come from any other clock.

function openStillness(clock: Clock, settleMs: number) {
  const sights = new Map<string, { readonly fingerprint: string; readonly sinceMs: number }>();
  return {
    /** Records the current fingerprint of a file. @returns whether it has been unchanged for long enough */
    isStill(name: string, fingerprint: string): boolean {
      const nowMs = clock.monotonicMs();
      const before = sights.get(name);
      if (before?.fingerprint === fingerprint) return nowMs - before.sinceMs >= settleMs;
      sights.set(name, { fingerprint, sinceMs: nowMs });
      return false;
    },
    keepOnly: (names: ReadonlySet<string>): void => forgetOthers(sights, names),
  };
}

function forgetOthers(known: Map<string, unknown>, names: ReadonlySet<string>): void {
  for (const name of known.keys()) if (!names.has(name)) known.delete(name);
}

// Polls a drop folder until stopped. It polls because network mounts do not notify about new files.

const pollIntervalMs = 2 * secondMs;

/**
 * @param deps `pollIntervalMs`: pause between two polls, 2 s by default
 * @returns stops it after the current file
 */
export function watchDropFolder(
  work: Pick<DropFolderWork, "round">,
  deps: { clock: Clock; onIncident: (message: string) => void; pollIntervalMs?: number },
): () => Promise<void> {
  const { clock, onIncident, pollIntervalMs: pauseMs = pollIntervalMs } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  const watch = async (): Promise<void> => {
    while (!signal.aborted) {
      await work.round(signal).catch((thrown: unknown) => onIncident(messageOf(thrown)));
      await clock.sleep(pauseMs, signal).catch(() => undefined);
    }
  };
  const watching = watch();
  return async () => {
    stopping.abort(new Error("this process is stopping"));
    await watching;
  };
}

// The runs of a drop folder's files: planned and submitted like a user's, with the same messages if that is impossible.

export type FileRuns = ReturnType<typeof droppedFileRuns>;
/** Why a file cannot become a run; `faults`: its problems, one line each. */
export type Refusal = NonNullable<Awaited<ReturnType<FileRuns["submit"]>>>;
export type FileRun = NonNullable<Awaited<ReturnType<FileRuns["status"]>>>;

export function droppedFileRuns(deps: { runService: RunService; clock: Clock; folder: DropFolder }) {
  const { runService, clock, folder } = deps;
  return {
    newRunId: () => newRunId(clock.wallMs()),

    /** Submits a file as the run with this id, or returns why it cannot be one. @throws errors that may be temporary */
    async submit(path: string, { runId, name }: { runId: string; name: string }) {
      const { profile, operation, set, options } = folder;
      const order = { profile, operation, set, options, name: folder.name ?? name };
      let planned: Planned | undefined;
      try {
        planned = await runService.draft({ path, rules: droppedFileRules }, order, { source: name });
        await runService.submit(planned, { runId, by: "drop-folder", isUnattended: true });
        return undefined;
      } catch (thrown) {
        if (!isAboutTheFile(thrown)) throw thrown;
        const faults = planned?.report.problems.map((problem) => `line ${problem.line}: ${withoutContent(problem)}`);
        const reason = thrown instanceof IntakeError ? thrown.withoutContent : thrown.message;
        return { reason, faults: faults ?? [] };
      }
    },

    /** The run; undefined if it does not exist. `isGood`: every row is done or skipped; `sha256`: of the file as it was read */
    async status(runId: string) {
      if (!(await runService.exists(runId))) return undefined;
      const { state, tally: counts, reason, sha256 } = await runService.record(runId);
      if (!isRunSettled({ state, counts })) return { isOver: false } as const;
      const { total, done, skipped } = counts;
      const missing = `${total - done - skipped} of ${total} rows are not done`;
      const isGood = state === "completed" && exitCodeOf({ counts }) === 0;
      const why = reason ?? (isGood ? "" : missing);
      return { isOver: true, isGood, state: state as string, reason: why, sha256 } as const;
    },

    /** The results of a run that has ended, as CSV. */
    results: (runId: string): AsyncIterable<string> => runService.results(runId, { format: "csv" }),
  };
}

/** Whether the file itself is invalid, so that retrying is useless; an unreadable file may become readable later. */
function isAboutTheFile(thrown: unknown): thrown is SimfleetError {
  if (!(thrown instanceof SimfleetError)) return false;
  const isOfTheSystem = thrown.cause instanceof Error && "syscall" in thrown.cause;
  return (thrown.code === "INPUT_INVALID" || thrown.code === "USAGE") && !isOfTheSystem;
}
