/**
 * The drop folder in the file system: listing files, and moves that are atomic. The only assumption is that the file system
 * renames atomically within one folder.
 *   (path)  ->  processing/  ->  done/ | failed/
 * Anyone who can write to the folder can replace anything in it at any moment. So the three subfolders are checked and held
 * open for a round, and on Linux accessed through the open handles, not through their names; open-file.ts opens files.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { type FileHandle, lstat, mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type FileRules, FileRefusedError, openFile } from "#core/files/open-file.ts";
import { checkFolder, holdFolder, replaceFile } from "#core/files/write-file.ts";
import { asText } from "./names.ts";

export type Place = "incoming" | "processing" | "done" | "failed";

/** A link, or a second name of a file, could lead to a file that only this process may read. */
export const droppedFileRules: FileRules = { links: "refuse", isOneName: true };

const madePlaces = ["processing", "done", "failed"] as const;
/** Where Linux exposes the open files of this process. */
const heldFiles = "/proc/self/fd";

export interface FoundFile {
  /** Name as text; other programs may use any encoding. */
  readonly name: string;
  /** Name as stored by the file system. */
  readonly rawName: Buffer;
  /** Reason to reject the entry. Absent: a regular file. Other entries in the folder itself are not listed. */
  readonly oddity?: "a symbolic link" | "not a regular file";
  /** Changes with the content: built from inode, size and modification time. */
  readonly fingerprint: string;
}

export class Folder {
  readonly path: string;
  readonly #held = new Map<Place, FileHandle>();

  constructor(path: string) {
    this.path = path;
  }

  /**
   * Creates missing subfolders and holds them open until `close`. The folder itself must exist: it may be a mount that is
   * currently absent.
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
   * The matching files of a place, oldest first. In the folder itself links, folders and pipes are ignored; in the others
   * they are listed with their type.
   */
  async list(place: Place, isWanted: (name: string) => boolean): Promise<FoundFile[]> {
    const entries = await readdir(this.pathOf(place), { encoding: "buffer" });
    const found: (FoundFile & { readonly mtimeNs: bigint })[] = [];
    for (const rawName of entries) {
      const name = asText(rawName);
      if (!isWanted(name)) continue;
      const facts = await this.#facts(place, rawName);
      if (facts === undefined || (facts.oddity !== undefined && place === "incoming")) continue;
      found.push({ name, rawName, ...facts });
    }
    return found.sort((a, b) => Number(a.mtimeNs - b.mtimeNs) || (a.name < b.name ? -1 : 1));
  }

  /** The current fingerprint of a file; undefined if it is gone. */
  async fingerprint(place: Place, name: string): Promise<string | undefined> {
    return (await this.#facts(place, Buffer.from(name)))?.fingerprint;
  }

  async #facts(
    place: Place,
    rawName: Buffer,
  ): Promise<(Pick<FoundFile, "fingerprint" | "oddity"> & { mtimeNs: bigint }) | undefined> {
    const found = await lstat(this.#rawPath(place, rawName), { bigint: true }).catch(unless("ENOENT"));
    if (found === undefined) return undefined;
    const { ino, size, mtimeNs } = found;
    const facts = { fingerprint: `${ino} ${size} ${mtimeNs}`, mtimeNs };
    if (found.isFile()) return facts;
    const oddity = found.isSymbolicLink() ? ("a symbolic link" as const) : ("not a regular file" as const);
    return { ...facts, fingerprint: `${oddity} ${facts.fingerprint}`, oddity };
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
