/** A drop folder on disk, a stopped clock, and a service that keeps runs in memory. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { PoisonGuard } from "#engine/poison-guard.ts";
import { FileRefusedError, readFileOnce } from "#core/files/open-file.ts";
import { type FileRun, type FileRuns, type Refusal, DropFolderWork } from "#jobs/drop-folder/work.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import { dropFolderOf } from "../../../support/drop-folder.ts";
import { noGuard } from "../../../support/no-guard.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

export const settleMs = 5_000;

/** Runs as several workers see them: one shared service. */
class MemoryRuns implements FileRuns {
  readonly submitted: { readonly name: string; readonly runId: string; readonly content: string }[] = [];
  readonly runs = new Map<string, FileRun>();
  readonly reported: string[] = [];
  refusal: Refusal | undefined;
  fault: Error | undefined;
  /** Happens while the file is read. */
  meanwhile: (path: string) => void = () => undefined;
  #next = 0;

  get lastRunId(): string {
    return this.submitted.at(-1)?.runId ?? "";
  }

  newRunId(): string {
    this.#next += 1;
    return `r-20261120-103045-${String(this.#next).padStart(8, "a")}`;
  }

  submit(path: string, { runId, name }: { runId: string; name: string }): Promise<Refusal | undefined> {
    if (this.fault !== undefined) return Promise.reject(this.fault);
    let content = "";
    try {
      content = readFileOnce(path, { links: "refuse", maxBytes: 1e6 }).bytes.toString();
    } catch (thrown) {
      if (thrown instanceof FileRefusedError) return Promise.resolve({ reason: thrown.message, faults: [] });
      throw thrown;
    }
    this.meanwhile(path);
    if (this.refusal !== undefined) return Promise.resolve(this.refusal);
    this.submitted.push({ name, runId, content });
    this.runs.set(runId, { isOver: false });
    return Promise.resolve(undefined);
  }

  status(runId: string): Promise<FileRun | undefined> {
    return Promise.resolve(this.runs.get(runId));
  }

  results(runId: string): AsyncIterable<string> {
    return Readable.from([`results of ${runId}\n`]);
  }

  /** Marks are kept by the reporter. */
  emitOnce({ type, fields }: { type: string; fields: Readonly<Record<string, string>> }, mark: string): Promise<void> {
    if (!this.#marks.has(mark)) this.reported.push([type, fields.file, fields.reason].filter(Boolean).join(" "));
    this.#marks.add(mark);
    return Promise.resolve();
  }
  readonly #marks = new Set<string>();

  /** Ends all runs in progress. */
  end(how: { isGood?: boolean; state?: string; reason?: string } = {}): void {
    for (const { runId, content } of this.submitted) {
      if (this.runs.get(runId)?.isOver !== false) continue;
      const sha256 = createHash("sha256").update(content).digest("hex");
      this.runs.set(runId, { isOver: true, isGood: true, state: "completed", reason: "", sha256, ...how });
    }
  }
}

export class FolderHarness {
  readonly path = temporaryFolder();
  readonly clock = new ManualClock();
  readonly runs = new MemoryRuns();
  readonly incidents: string[] = [];
  readonly work = this.worker();

  /** One more process that watches the folder. */
  worker(guard: PoisonGuard = noGuard): DropFolderWork {
    const onIncident = (message: string): void => void this.incidents.push(message.replaceAll(this.path, "(folder)"));
    return new DropFolderWork({
      folder: dropFolderOf(this.path, settleMs),
      runs: this.runs,
      feed: this.runs,
      clock: this.clock,
      guard,
      onIncident,
    });
  }

  write(name: string, content = "simId,speedClass\n"): void {
    writeFileSync(join(this.path, name), content);
  }

  read(name: string): string {
    return readFileSync(join(this.path, name), "utf8");
  }

  /** What lies where, with the ids of runs left out. */
  files(place = ""): string[] {
    const folder = join(this.path, place);
    if (!existsSync(folder)) return [];
    const entries = readdirSync(folder, { withFileTypes: true }).filter((entry) => !entry.isDirectory());
    return entries.map(({ name }) => name.replace(/r-\d{8}-\d{6}-\w{8}/, "RUN")).toSorted();
  }

  /** Time passes, and a worker looks. */
  async fingerprint(afterMs = 0, worker = this.work): Promise<void> {
    this.clock.pass(afterMs);
    await worker.round(new AbortController().signal);
  }

  /** A file is put there and taken. */
  async drop(name: string, content?: string): Promise<void> {
    this.write(name, content);
    await this.fingerprint();
    await this.fingerprint(settleMs);
  }
}
