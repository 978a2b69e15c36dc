/**
 * Looks once through a drop folder and takes every file as far as it goes. All that is known of a file is its place and
 * name, and its run in the ledger: so any process goes on where another was killed, and several can watch one folder.
 *   stands still in the folder  ->  processing/NAME.RUN.csv        renamed; who renames it goes on at once
 *   no run of this id           ->  submitted under it, or refused: failed/ with NAME.RUN.problem.txt
 *   the run is over             ->  done/ or failed/, with NAME.RUN.results.csv
 * A file that another process has taken is gone on with once nothing has come of it for as long as it takes to settle.
 * Doing a step twice changes nothing: a run is there once by its id, and an event is told once by its mark.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Clock } from "#core/time.ts";
import type { EventType } from "#events/event.ts";
import type { Feed } from "#events/feed.ts";
import type { DropFolder } from "#fleet/drop-folder.ts";
import { Folder, type FoundFile, type Place } from "./folder.ts";
import { type TakenName, besideName, isInput, nameFault, readTakenName, safeName, takenName } from "./names.ts";
import { Stillness } from "./stillness.ts";
import { Incidents } from "./troubles.ts";

/** Why a file can become no run. */
export interface Refusal {
  readonly reason: string;
  /** Its faults, one line each. */
  readonly faults: readonly string[];
}

export type FileRun =
  | { readonly isOver: false }
  | {
      readonly isOver: true;
      /** Every row is done or skipped. */
      readonly isGood: boolean;
      readonly state: string;
      readonly reason: string;
      /** Of the file as it was read, hex. */
      readonly sha256: string;
    };

/** What is asked of the desk. */
export interface FileRuns {
  newRunId(): string;
  /** Makes a file the run of this id, or says why it cannot be one. @throws what may work another time */
  submit(path: string, how: { runId: string; name: string }): Promise<Refusal | undefined>;
  /** How the run stands; undefined where there is none. */
  status(runId: string): Promise<FileRun | undefined>;
  /** The results of a run that is over, as CSV. */
  results(runId: string): AsyncIterable<string>;
}

export interface DropFolderDeps {
  readonly folder: DropFolder;
  readonly runs: FileRuns;
  readonly feed: Pick<Feed, "emitOnce">;
  readonly clock: Clock;
  readonly onIncident: (message: string) => void;
}

export class DropFolderWork {
  readonly #deps: DropFolderDeps;
  readonly #folder: Folder;
  readonly #stillness: Stillness;
  readonly #incidents: Incidents;
  /** Runs of the files that this process has taken, or gone on with. */
  readonly #own = new Set<string>();

  constructor(deps: DropFolderDeps) {
    this.#deps = deps;
    this.#folder = new Folder(deps.folder.path);
    this.#stillness = new Stillness({ clock: deps.clock, settleMs: deps.folder.settleMs });
    this.#incidents = new Incidents({
      clock: deps.clock,
      emit: (message) => deps.onIncident(this.#folder.readable(message)),
    });
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
    // Another file may have come under the name since it was looked at: that one has not stood still yet.
    if ((await this.#folder.fingerprint("processing", taken)) === fingerprint) this.#own.add(runId);
  }

  /** Under another name, since nobody could look for this one; a crash before the move refuses it once more. */
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
    onIncident(`${original} was refused and lies in failed/ as ${taken}: ${fault}`);
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
    const isOurs = this.#own.has(file.runId);
    if (
      !isOurs &&
      !this.#stillness.isStill(inProcessing(name), `${run === undefined ? "no run" : "over"} ${fingerprint}`)
    )
      return;
    this.#own.add(file.runId);
    if (run === undefined && oddity !== undefined) await this.#refuse(file, { reason: oddityText(oddity), faults: [] });
    else if (run === undefined) await this.#submit(file, fingerprint);
    else await this.#finish(file, run);
  }

  async #submit(file: TakenName, fingerprint: string): Promise<void> {
    const { runs } = this.#deps;
    const { name, runId, original } = file;
    await this.#emit("file.taken", file, {});
    const refusal = await runs.submit(this.#folder.pathOf("processing", name), { runId, name: original });
    if (refusal === undefined) return;
    if ((await this.#folder.fingerprint("processing", name)) !== fingerprint) {
      // Somebody still writes to it: it was not refused as what it is going to be.
      this.#own.delete(runId);
      return;
    }
    await this.#refuse(file, refusal);
  }

  async #refuse(file: TakenName, { reason, faults }: Refusal): Promise<void> {
    const { name, runId } = file;
    const text = this.#folder.readable([reason, ...faults].map((line) => `${line}\n`).join(""));
    await this.#folder.put({ place: "failed", name: besideName(name, "problem.txt"), of: runId }, text);
    await this.#emit("file.refused", file, { reason: this.#folder.readable(reason) });
    await this.#moveTo("failed", file);
  }

  async #finish(file: TakenName, run: Extract<FileRun, { isOver: true }>): Promise<void> {
    const { name, runId } = file;
    const isWhole = (await this.#folder.digest("processing", name)) === run.sha256;
    const place = run.isGood && isWhole ? "done" : "failed";
    const results = { place, name: besideName(name, "results.csv"), of: runId } as const;
    await this.#folder.put(results, this.#deps.runs.results(runId));
    const reason = isWhole ? run.reason : writtenLater;
    if (!isWhole) {
      await this.#folder.put({ place, name: besideName(name, "problem.txt"), of: runId }, `${writtenLater}\n`);
    }
    const reported = { state: run.state, ...(reason === "" ? {} : { reason }) };
    await this.#emit(place === "done" ? "file.done" : "file.failed", file, reported);
    await this.#moveTo(place, file);
  }

  /** The last step: from here on nobody looks at the file any more. */
  async #moveTo(place: Place, { name, runId }: TakenName): Promise<void> {
    await this.#folder.move(name, "processing", { place, name });
    await this.#folder.sweep(runId);
    this.#own.delete(runId);
  }

  /** Before the step that cannot be done again, so that a crash between the two leaves neither out. */
  #emit(type: EventType, { runId, original }: TakenName, more: Readonly<Record<string, string>>): Promise<void> {
    const { feed, folder } = this.#deps;
    const fields = { file: original, run: runId, ...more };
    return feed.emitOnce({ type, profile: folder.profile, fields }, `${type}:${runId}`);
  }
}

function oddityText(oddity: NonNullable<FoundFile["oddity"]>): string {
  return `It is ${oddity}, put in the place of the file after that was taken. Nothing of it was read.`;
}

/** Tells a file that was taken from one of the same name in the folder itself. */
function inProcessing(name: string): string {
  return `processing/${name}`;
}

const writtenLater =
  "The file was written to after it had been taken: the run did what it held before. Write under another name and rename the file when it is whole, or raise dropFolder.settleSeconds.";
