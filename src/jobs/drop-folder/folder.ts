/**
 * The drop folder in the file system: what lies where, and moves that either happen or do not. Every file system here is
 * assumed to rename atomically within one folder, and nothing else.
 *   (path)  ->  processing/  ->  done/ | failed/
 */
import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { lstat, mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

export type Place = "incoming" | "processing" | "done" | "failed";

/** A plain file. */
export interface FoundFile {
  readonly name: string;
  /** Changes with its content: which file it is, its length and its time. */
  readonly look: string;
}

export class Folder {
  readonly path: string;
  /** In the names of what this process is writing, so that no other writes to the same. */
  readonly #mark = randomBytes(6).toString("hex");

  constructor(path: string) {
    this.path = path;
  }

  /** Makes the places where they lack. The folder itself has to be there: it may be a mount that is not. */
  async prepare(): Promise<void> {
    for (const place of ["processing", "done", "failed"] as const) {
      await mkdir(this.pathOf(place)).catch(unless("EEXIST"));
    }
  }

  pathOf(place: Place, name = ""): string {
    return join(this.path, place === "incoming" ? "" : place, name);
  }

  /** The plain files of a place that are wanted, the oldest first; links, folders and pipes are none. */
  async list(place: Place, isWanted: (name: string) => boolean): Promise<FoundFile[]> {
    const entries = await readdir(this.pathOf(place), { withFileTypes: true });
    const names = entries.filter((entry) => entry.isFile() && isWanted(entry.name)).map(({ name }) => name);
    const found: (FoundFile & { readonly mtimeNs: bigint })[] = [];
    for (const name of names) {
      const facts = await this.#facts(place, name);
      if (facts !== undefined) found.push({ name, ...facts });
    }
    return found.sort((a, b) => Number(a.mtimeNs - b.mtimeNs) || (a.name < b.name ? -1 : 1));
  }

  /** How a file looks now; undefined where it is gone or no plain file. */
  async look(place: Place, name: string): Promise<string | undefined> {
    return (await this.#facts(place, name))?.look;
  }

  async #facts(place: Place, name: string): Promise<{ look: string; mtimeNs: bigint } | undefined> {
    const found = await lstat(this.pathOf(place, name), { bigint: true }).catch(unless("ENOENT"));
    if (found?.isFile() !== true) return undefined;
    const { ino, size, mtimeNs } = found;
    return { look: `${ino} ${size} ${mtimeNs}`, mtimeNs };
  }

  /** @returns false where somebody else has moved it before */
  async move(name: string, from: Place, to: { place: Place; name: string }): Promise<boolean> {
    const moved = rename(this.pathOf(from, name), this.pathOf(to.place, to.name)).then(() => true);
    return (await moved.catch(unless("ENOENT"))) ?? false;
  }

  /**
   * Puts a file into a place, whole or not at all: written in processing/ under a hidden name first.
   * @param of the run, by whose id what a crash left behind is found
   */
  async put(to: { place: Place; name: string; of: string }, write: (path: string) => Promise<void>): Promise<void> {
    const draft = this.pathOf("processing", `.${to.of}.${this.#mark}`);
    try {
      await write(draft);
      await rename(draft, this.pathOf(to.place, to.name));
    } catch (thrown) {
      await rm(draft, { force: true }).catch(() => undefined);
      throw thrown;
    }
  }

  putText(to: { place: Place; name: string; of: string }, text: string): Promise<void> {
    return this.put(to, (path) => writeFile(path, text, { flush: true }));
  }

  /** Takes away what processes that were killed had begun to write for a run. */
  async sweep(runId: string): Promise<void> {
    for (const name of await readdir(this.pathOf("processing"))) {
      if (name.startsWith(`.${runId}.`)) await rm(this.pathOf("processing", name), { force: true });
    }
  }

  /** SHA-256 of a file, hex. */
  async digest(place: Place, name: string): Promise<string> {
    const hash = createHash("sha256");
    for await (const chunk of createReadStream(this.pathOf(place, name))) hash.update(chunk as Buffer);
    return hash.digest("hex");
  }
}

/** Lets a fault of the file system pass as undefined where it means what was expected. */
function unless(code: string): (thrown: unknown) => undefined {
  return (thrown) => {
    if ((thrown as NodeJS.ErrnoException).code !== code) throw thrown;
    return undefined;
  };
}
