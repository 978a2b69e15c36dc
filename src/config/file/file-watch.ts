/**
 * Reports when files may have changed, including replacement by rename and swapped symbolic links anywhere on their
 * path, as mounted secrets use. It watches folders, since a watch on a file stays with the replaced file. A slow poll
 * covers file systems without notifications. Bursts of changes are reported once, at most one second after the first.
 * It does not read the files.
 */
import { type FSWatcher, lstatSync, readlinkSync, statSync, watch } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { type Clock, every } from "#core/time.ts";

const pollIntervalMs = 5_000;
/** A burst has ended when nothing changed for this long … */
const quietMs = 50;
/** … and is reported after this time at the latest. */
const longestBurstMs = 1_000;
/** As many links as Linux follows. */
const maxLinks = 40;

export class FileWatch {
  readonly #files: readonly string[];
  readonly #clock: Clock;
  readonly #onChange: () => void;
  readonly #stopping = new AbortController();
  #watchers: FSWatcher[] = [];
  #folders = "";
  #stopPolling: (() => void) | undefined;
  #seen: string;
  #lastHintMs = 0;
  #isSettling = false;

  /** @param options `onChange` is called when a file is another than before, or may now be read, or no longer */
  constructor(options: { files: readonly string[]; clock: Clock; onChange: () => void }) {
    this.#files = options.files;
    this.#clock = options.clock;
    this.#onChange = options.onChange;
    this.#seen = this.#fingerprint();
  }

  start(): void {
    this.#arm();
    this.#stopPolling = every(pollIntervalMs, () => this.poll());
    // What changed before the watch stood.
    this.poll();
  }

  stop(): void {
    this.#stopping.abort(new Error("the watch has ended"));
    this.#stopPolling?.();
    for (const watcher of this.#watchers) watcher.close();
    this.#watchers = [];
  }

  /** Checks immediately. */
  poll(): void {
    if (this.#stopping.signal.aborted) return;
    this.#arm();
    const now = this.#fingerprint();
    if (now === this.#seen) return;
    this.#seen = now;
    this.#onChange();
  }

  #hint(): void {
    this.#lastHintMs = this.#clock.monotonicMs();
    if (this.#isSettling) return;
    this.#isSettling = true;
    this.#settle()
      .catch(() => undefined) // stopped meanwhile
      .finally(() => (this.#isSettling = false));
  }

  async #settle(): Promise<void> {
    const endMs = this.#lastHintMs + longestBurstMs;
    do await this.#clock.sleep(quietMs, this.#stopping.signal);
    while (this.#clock.monotonicMs() - this.#lastHintMs < quietMs && this.#clock.monotonicMs() < endMs);
    this.poll();
  }

  /** Watches the current folders of the files; links may have changed. */
  #arm(): void {
    const folders = [...new Set(this.#files.flatMap(foldersOf))].sort();
    const isWatching = this.#watchers.length > 0;
    if (isWatching && folders.join("\0") === this.#folders) return;
    for (const watcher of this.#watchers) watcher.close();
    this.#folders = folders.join("\0");
    this.#watchers = folders.flatMap((folder) => {
      try {
        const watcher = watch(folder, { persistent: false }, () => this.#hint());
        watcher.on("error", () => watcher.close()); // the slow poll continues
        return [watcher];
      } catch {
        return []; // no such folder, or no watches left: the slow poll continues
      }
    });
  }

  #fingerprint(): string {
    return this.#files.map(fingerprintOf).join("\n");
  }
}

function fingerprintOf(file: string): string {
  try {
    const { dev, ino, mode, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
    return [dev, ino, mode, size, mtimeNs, ctimeNs].join(" ");
  } catch (thrown) {
    return String((thrown as NodeJS.ErrnoException).code);
  }
}

/** The folder of the file, and that of every link on the way to it. */
function foldersOf(file: string): string[] {
  const folders: string[] = [];
  let place = resolve(file);
  let links = 0;
  for (let step = 1; step < place.split(sep).length && links <= maxLinks; step += 1) {
    const steps = place.split(sep);
    const prefix = steps.slice(0, step + 1).join(sep);
    const target = linkTarget(prefix);
    if (target === undefined) continue;
    folders.push(dirname(prefix));
    place = join(resolve(dirname(prefix), target), ...steps.slice(step + 1));
    links += 1;
    step = 0;
  }
  return [...folders, dirname(place)];
}

function linkTarget(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch {
    return undefined;
  }
}
