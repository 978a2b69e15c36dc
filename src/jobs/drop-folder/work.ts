/**
 * Checks a drop folder once and advances every file as far as possible. The state of a file consists only of its place,
 * its name, and its run in the ledger, so it has no record of the engine: a user can move it, any process can continue
 * after another was killed, and several can watch one folder.
 *   unchanged in the folder     ->  processing/NAME.RUN.csv        renamed; the renaming process continues at once
 *   no run with this id         ->  submitted with it, or rejected: failed/ with NAME.RUN.problem.txt
 *   the run has ended           ->  done/ or failed/, with NAME.RUN.results.csv
 *   three workers died with it  ->  failed/ with NAME.RUN.problem.txt
 * Another process continues with a claimed file if nothing has happened to it for the settle time. Repeating a step has
 * no effect: the run's id and the event's mark make both unique.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { quarantined, quarantineReason } from "#engine/poison-guard.ts";
import type { Working } from "#engine/queue/job-result.ts";
import { namedJobs } from "#engine/queue/named-jobs.ts";
import type { EventType } from "#events/event.ts";
import type { Feed } from "#events/feed.ts";
import type { Kernel } from "#kernel/kernel.ts";
import type { DropFolder } from "./config.ts";
import { backoffMs } from "#core/backoff.ts";
import { IntakeError, codeOf, messageOf, SimfleetError } from "#core/errors.ts";
import { type Clock, secondMs } from "#core/time.ts";
import { isRunSettled } from "#fleet/run.ts";
import { withoutContent } from "#intake/columns.ts";
import type { RunService } from "#jobs/runs/service.ts";
import type { Planned } from "#jobs/runs/plan/plans.ts";
import { exitCodeOf } from "#jobs/runs/report.ts";
import { newRunId } from "#jobs/runs/submit.ts";
import { existsSync } from "node:fs";
import { type FileHandle, lstat, mkdir, readdir, rename, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { type FileRules, FileRefusedError, openFile } from "#core/files/open-file.ts";
import { checkFolder, holdFolder, replaceFile } from "#core/files/write-file.ts";

type EndedRun = Extract<FileRun, { isOver: true }>;

export interface DropFolderDeps extends Pick<Kernel, "clock" | "guard"> {
  readonly folder: DropFolder;
  readonly runs: FileRuns;
  readonly feed: Pick<Feed, "emitOnce">;
  readonly onIncident: (message: string) => void;
  /** The folder in the file system; by default that of `folder`. */
  readonly files?: Folder;
}

const pauses = { baseMs: 2_000, capMs: 60_000 };

/** Memory of a file: since when its fingerprint is the same, and its last fault. */
interface Seen {
  fingerprint?: string;
  sinceMs: number;
  /** The code if there is one, since messages contain names of files. */
  fault?: string | undefined;
  tries: number;
  againAtMs: number;
}

export class DropFolderWork {
  readonly #deps: DropFolderDeps;
  readonly #folder: Folder;
  /** By the path of a file below the folder, or that of a folder. */
  readonly #seen = new Map<string, Seen>();
  /** Runs of the files that this process has claimed or continued. */
  readonly #own = new Set<string>();

  constructor(deps: DropFolderDeps) {
    this.#deps = deps;
    this.#folder = deps.files ?? new Folder(deps.folder.path);
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
    const isListed = await this.#try(path, async () => {
      await this.#folder.open();
      incoming = await this.#folder.list("incoming", isInput);
    });
    if (!isListed) return;
    for (const file of incoming) {
      if (signal.aborted) return;
      if (!this.#isStill(file.name, file.fingerprint)) continue;
      await this.#try(file.name, () => this.#take(file));
    }
    await this.#try(processingPath, async () => {
      processing = await this.#folder.list("processing", (name) => readTakenName(name) !== undefined);
    });
    for (const file of processing) {
      if (signal.aborted) return;
      await this.#try(inProcessing(file.name), () => this.#goOn(file));
    }
    const names = [...incoming.map(({ name }) => name), ...processing.map(({ name }) => inProcessing(name))];
    const present = new Set([...names, path, processingPath]);
    for (const name of this.#seen.keys()) if (!present.has(name)) this.#seen.delete(name);
  }

  #track(name: string): Seen {
    const seen = this.#seen.get(name) ?? { sinceMs: 0, tries: 0, againAtMs: 0 };
    this.#seen.set(name, seen);
    return seen;
  }

  /**
   * Detects when a file is complete: its fingerprint was the same in every poll for long enough. No file system shows
   * whether a writer has finished; an unchanged file can be detected on all of them, including network mounts. Only
   * this process's clock is used, so the files' times may come from any other clock.
   */
  #isStill(name: string, fingerprint: string): boolean {
    const { clock, folder } = this.#deps;
    const seen = this.#track(name);
    const nowMs = clock.monotonicMs();
    if (seen.fingerprint === fingerprint) return nowMs - seen.sinceMs >= folder.settleMs;
    Object.assign(seen, { fingerprint, sinceMs: nowMs });
    return false;
  }

  /**
   * Does the work unless delayed. A fault is reported when it first occurs or changes, and delays the next attempt.
   * @returns whether it succeeded
   */
  async #try(what: string, work: () => Promise<void>): Promise<boolean> {
    const { clock, onIncident } = this.#deps;
    const seen = this.#track(what);
    if (seen.fault !== undefined && clock.monotonicMs() < seen.againAtMs) return false;
    try {
      await work();
      Object.assign(seen, { fault: undefined, tries: 0 });
      return true;
    } catch (thrown) {
      const fault = codeOf(thrown) ?? messageOf(thrown);
      const tries = seen.tries + 1;
      if (seen.fault !== fault) onIncident(this.#folder.readable(`${what}: ${messageOf(thrown)} (it is tried again)`));
      Object.assign(seen, { fault, tries, againAtMs: clock.monotonicMs() + backoffMs(pauses, tries) });
      return false;
    }
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
    await feed.emitOnce({ type: "file.rejected", profile: folder.profile, fields }, `file.rejected:${mark}`);
    await this.#folder.move(rawName, "incoming", { place: "failed", name: taken });
    onIncident(`${original} was rejected and is in failed/ as ${taken}: ${fault}`);
  }

  async #goOn({ name, rawName, fingerprint }: FoundFile): Promise<void> {
    const file = readTakenName(name);
    if (file === undefined) return;
    if (nameFault(name) !== undefined) {
      await this.#folder.move(rawName, "processing", { place: "processing", name: safeName(name) });
      return;
    }
    const run = await this.#deps.runs.status(file.runId);
    if (run?.isOver === false) return;
    const seen = `${run === undefined ? "no run" : "over"} ${fingerprint}`;
    if (!this.#own.has(file.runId) && !this.#isStill(inProcessing(name), seen)) return;
    this.#own.add(file.runId);
    const done = await this.#deps.guard.run(`file ${name}`, () =>
      run === undefined ? this.#submit(file, fingerprint) : this.#finish(file, run),
    );
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
    return this.#close(file, "failed", { type: "file.rejected", reason: this.#folder.readable(reason), problem });
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
   * Writes the problem next to the file, reports, and moves the file: the last step, since the file is not checked
   * again afterwards.
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

/** Distinguishes a claimed file from one with the same name in the folder itself. */
function inProcessing(name: string): string {
  return `processing/${name}`;
}

const writtenLater =
  "The file was changed after it was picked up: the run processed its previous content. Write to another name and rename the complete file, or raise dropFolder.settleSeconds.";

// The job of a drop folder: it polls, because network mounts do not notify about new files.

const pollIntervalMs = 2 * secondMs;

/** Each folder of a machine has a queue: another machine may have another folder at the path, or none. */
function queueOf(path: string): string {
  return `drop-folder-${hostname()}-${path.replaceAll(":", "_")}`;
}

/**
 * Watches a folder until stopped.
 * @param folder undefined: none is configured
 */
export function watchDropFolder(
  folder: DropFolder | undefined,
  deps: Kernel & Pick<DropFolderDeps, "onIncident"> & { readonly runService: RunService },
): Promise<Working[]> {
  const watches = (folder === undefined ? [] : [folder]).map((one) => {
    const runs = droppedFileRuns({ ...deps, folder: one });
    return { name: one.path, watch: new DropFolderWork({ ...deps, folder: one, runs }) };
  });
  return namedJobs("drop-folder", deps, { queueOf }).consumeAll(watches, {
    work: async ({ watch }, signal) => {
      await watch.round(signal);
      return { kind: "postponed", delayMs: pollIntervalMs, scope: "job", reason: "the next poll" };
    },
    status: () => Promise.resolve("due"),
    onIncident: ({ message }) => deps.onIncident(message),
  });
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
        planned = await runService.draft({ path, rules: droppedFileRules }, order);
        await runService.submit(planned, { runId, by: "drop-folder", isUnattended: true });
        return undefined;
      } catch (thrown) {
        if (!isAboutTheFile(thrown)) throw thrown;
        const faults = planned?.report.problems.map((problem) => `line ${problem.line}: ${withoutContent(problem)}`);
        const reason = thrown instanceof IntakeError ? thrown.withoutContent : thrown.message;
        return { reason, faults: faults ?? [] };
      }
    },

    /** The run; undefined if there is none. `isGood`: every row is done or skipped; `sha256`: of the file as read */
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

    results: (runId: string): AsyncIterable<string> => runService.results(runId, { format: "csv" }),
  };
}

/** Whether the file itself is invalid, so that retrying is useless; an unreadable file may become readable later. */
function isAboutTheFile(thrown: unknown): thrown is SimfleetError {
  if (!(thrown instanceof SimfleetError)) return false;
  const isOfTheSystem = thrown.cause instanceof Error && "syscall" in thrown.cause;
  return (thrown.code === "INPUT_INVALID" || thrown.code === "USAGE") && !isOfTheSystem;
}

// The drop folder in the file system: listing files, and moves that are atomic. The only assumption is that the file
// system renames atomically within one folder.
//   (path)  ->  processing/  ->  done/ | failed/
// Anyone who can write to the folder can replace anything in it at any time. So the three subfolders are checked and
// held open for a round, and on Linux accessed through the open handles, not by name; open-file.ts opens files.

export type Place = "incoming" | "processing" | "done" | "failed";

/** A link, or a second name of a file, could lead to a file that only this process may read. */
const droppedFileRules: FileRules = { links: "refuse", isOneName: true };

const madePlaces = ["processing", "done", "failed"] as const;
/** Where Linux exposes the open files of this process. */
const heldFiles = "/proc/self/fd";

type FoundFile = Awaited<ReturnType<Folder["list"]>>[number];

export class Folder {
  readonly path: string;
  readonly #held = new Map<Place, FileHandle>();

  constructor(path: string) {
    this.path = path;
  }

  /**
   * Creates missing subfolders and holds them open until `close`. The folder itself must exist: it may be a mount that
   * is currently absent.
   * @throws FileRefusedError if a subfolder is a link, not a folder, or belongs to another user
   */
  async open(): Promise<void> {
    await this.close();
    for (const place of madePlaces) {
      const path = join(this.path, place);
      await mkdir(path).catch(unless("EEXIST"));
      if (existsSync(heldFiles)) this.#held.set(place, await holdFolder(path));
      else await checkFolder(path);
    }
  }

  async close(): Promise<void> {
    const handles = [...this.#held.values()];
    this.#held.clear();
    await Promise.all(handles.map((handle) => handle.close()));
  }

  pathOf(place: Place, name = ""): string {
    const handle = this.#held.get(place);
    if (handle !== undefined) return join(heldFiles, String(handle.fd), name);
    return join(this.path, place === "incoming" ? "" : place, name);
  }

  /** Replaces the paths of handles in a message by the names of folders. */
  readable(message: string): string {
    let text = message;
    for (const [place, { fd }] of this.#held)
      text = text.replaceAll(join(heldFiles, `${fd}/`), `${join(this.path, place)}/`);
    return text;
  }

  /**
   * The matching files of a place, oldest first. In the folder itself links, folders and pipes are ignored; one that
   * has replaced a file since is refused when it is opened.
   */
  async list(place: Place, isWanted: (name: string) => boolean) {
    const entries = await readdir(this.pathOf(place), { encoding: "buffer" });
    const found = [];
    for (const rawName of entries) {
      /** Name as text; other programs may use any encoding, and invalid UTF-8 is shown as U+FFFD. */
      const name = rawName.toString();
      if (!isWanted(name)) continue;
      const facts = await this.#facts(place, rawName);
      if (facts === undefined || (!facts.isFile && place === "incoming")) continue;
      found.push({ name, rawName, ...facts });
    }
    return found.sort((a, b) => Number(a.mtimeNs - b.mtimeNs) || (a.name < b.name ? -1 : 1));
  }

  /** The current fingerprint of a file; undefined if it is gone. */
  async fingerprint(place: Place, name: string): Promise<string | undefined> {
    return (await this.#facts(place, Buffer.from(name)))?.fingerprint;
  }

  async #facts(place: Place, rawName: Buffer) {
    const found = await lstat(this.#rawPath(place, rawName), { bigint: true }).catch(unless("ENOENT"));
    if (found === undefined) return undefined;
    const { ino, size, mtimeNs } = found;
    /** `fingerprint`: changes with the content. */
    return { fingerprint: `${ino} ${size} ${mtimeNs}`, mtimeNs, isFile: found.isFile() };
  }

  /** @returns false if another process has already moved it */
  async move(name: string | Buffer, from: Place, to: { place: Place; name: string }): Promise<boolean> {
    const source = this.#rawPath(from, typeof name === "string" ? Buffer.from(name) : name);
    const moved = rename(source, this.pathOf(to.place, to.name)).then(() => true);
    return (await moved.catch(unless("ENOENT"))) ?? false;
  }

  /**
   * Writes a file to a place atomically: first to processing/, with a hidden name.
   * @param to `of`: the run's id, which identifies leftovers after a crash
   */
  put(to: { place: Place; name: string; of: string }, content: string | AsyncIterable<string>): Promise<void> {
    const draft = this.pathOf("processing", `.${to.of}.`);
    return replaceFile(this.pathOf(to.place, to.name), content, { mode: 0o666, draft });
  }

  /** Removes unfinished files that killed processes had started for a run. */
  async sweep(runId: string): Promise<void> {
    for (const name of await readdir(this.pathOf("processing"))) {
      if (name.startsWith(`.${runId}.`)) await rm(this.pathOf("processing", name), { force: true });
    }
  }

  /** SHA-256 of a file, hex; undefined if there is no regular file with this name anymore. */
  async digest(place: Place, name: string): Promise<string | undefined> {
    const handle = await openFile(this.pathOf(place, name), droppedFileRules).catch((thrown: unknown) => {
      if (thrown instanceof FileRefusedError) return undefined;
      throw thrown;
    });
    if (handle === undefined) return undefined;
    const hash = createHash("sha256");
    for await (const chunk of handle.createReadStream()) hash.update(chunk as Buffer);
    return hash.digest("hex");
  }

  #rawPath(place: Place, rawName: Buffer): Buffer {
    return Buffer.concat([Buffer.from(join(this.pathOf(place), "/")), rawName]);
  }
}

/** Converts an expected file system error to undefined. */
function unless(code: string): (thrown: unknown) => undefined {
  return (thrown) => {
    if ((thrown as NodeJS.ErrnoException).code !== code) throw thrown;
    return undefined;
  };
}

// File names in a drop folder. The name of a claimed file contains the id of its run, so that users can look up its
// outcome and no two files ever have the same name.

/** Names that programs use for unfinished files: rsync, FTP clients, browsers, editors. */
const unfinished = /^\.|\.(?:part|tmp|filepart|crdownload)$|~$/i;
const csv = /\.csv$/i;
const taken = /^(?<stem>[^]*)\.(?<runId>r-\d{8}-\d{6}-[a-z0-9]{4,16})\.csv$/;
/** Most file systems limit names to 255 bytes; the rest is for the run's id and the longest suffix. */
const maxStemBytes = 180;

export type TakenName = NonNullable<ReturnType<typeof readTakenName>>;

/** Characters that terminals, logs and lists cannot show: control characters, line breaks, changes of direction. */
const unsafe = /[\p{Cc}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\uFFFD]/gu;

/** Whether a file with this name is meant as input, even if its name is not acceptable. */
export function isInput(name: string): boolean {
  const shown = name.replaceAll(unsafe, "");
  return csv.test(shown) && !unfinished.test(shown);
}

/** Why a file cannot be accepted with its name; undefined if it can. */
function nameFault(name: string): string | undefined {
  if (name.includes("\uFFFD")) return "Its name is not valid UTF-8. Rename it, and put it into the folder again.";
  if (name.search(unsafe) < 0) return undefined;
  return "Its name has control characters or line breaks in it. Rename it, and put it into the folder again.";
}

/** The name with _ in place of every unsafe character. */
function safeName(name: string): string {
  const safe = name.replaceAll(unsafe, "_");
  return csv.test(safe) ? safe : `${safe}.csv`;
}

/** `fleet.csv` becomes `fleet.r-20261120-103045-x7k2m9ab.csv`. */
export function takenName(original: string, runId: string): string {
  const stem = Buffer.from(original.replace(csv, "")).subarray(0, maxStemBytes).toString();
  // A character that was cut through.
  return `${stem.replace(/\uFFFD+$/, "")}.${runId}.csv`;
}

/** @returns undefined if the name is not that of a claimed file */
export function readTakenName(name: string) {
  const { stem, runId } = taken.exec(name)?.groups ?? {};
  return stem === undefined || runId === undefined ? undefined : { name, runId, original: `${stem}.csv` };
}

/** The name of the file that is written next to a claimed file: its results, or its problems. */
export function besideName(name: string, ending: "results.csv" | "problem.txt"): string {
  return name.replace(csv, `.${ending}`);
}
