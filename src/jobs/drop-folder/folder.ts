/**
 * The drop folder in the file system: what lies where, and moves that either happen or do not. Every file system here is
 * assumed to rename atomically within one folder, and nothing else.
 *   (path)  ->  processing/  ->  done/ | failed/
 * Whoever may write to the folder can exchange anything in it at any moment. So the three places are checked and held
 * open for a round, and on Linux reached through what is held, not through their names; files are opened by open-file.ts.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { type FileHandle, lstat, mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type FileRules, FileRefusedError, openFile } from "#core/open-file.ts";
import { checkFolder, holdFolder, replaceFile } from "#core/write-file.ts";
import { asText } from "./names.ts";

export type Place = "incoming" | "processing" | "done" | "failed";

/** A link could lead to a file that only this process may read, and so could a second name of one. */
export const droppedFileRules: FileRules = { links: "refuse", isOneName: true };

const madePlaces = ["processing", "done", "failed"] as const;
/** Where Linux shows the open files of this process. */
const heldFiles = "/proc/self/fd";

export interface FoundFile {
  /** As text; other programs may write names in any encoding. */
  readonly name: string;
  /** As the file system has it. */
  readonly rawName: Buffer;
  /** Absent: a regular file. What else lies in the folder itself is not listed. */
  readonly oddity?: "a symbolic link" | "not a regular file";
  /** Changes with its content: which file it is, its length and its time. */
  readonly fingerprint: string;
}

export class Folder {
  readonly path: string;
  readonly #held = new Map<Place, FileHandle>();

  constructor(path: string) {
    this.path = path;
  }

  /**
   * Makes the places where they lack and holds them until `close`. The folder itself has to be there: it may be a mount
   * that is not.
   * @throws FileRefusedError where a place is a link, no folder, or belongs to another user
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

  /** A message with the names of folders instead of the way they are reached. */
  readable(message: string): string {
    let text = message;
    for (const [place, { fd }] of this.#held)
      text = text.replaceAll(join(heldFiles, `${fd}/`), `${join(this.path, place)}/`);
    return text;
  }

  /**
   * The files of a place that are wanted, the oldest first. In the folder itself links, folders and pipes are none; in the
   * others they are listed with what they are.
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

  /** How a file looks now; undefined where it is gone. */
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

  /** @returns false where somebody else has moved it before */
  async move(name: string | Buffer, from: Place, to: { place: Place; name: string }): Promise<boolean> {
    const source = this.#rawPath(from, typeof name === "string" ? Buffer.from(name) : name);
    const moved = rename(source, this.pathOf(to.place, to.name)).then(() => true);
    return (await moved.catch(unless("ENOENT"))) ?? false;
  }

  /**
   * Puts a file into a place, whole or not at all: written in processing/ under a hidden name first.
   * @param to `of`: the run, by whose id what a crash left behind is found
   */
  put(to: { place: Place; name: string; of: string }, content: string | AsyncIterable<string>): Promise<void> {
    const draft = this.pathOf("processing", `.${to.of}.`);
    return replaceFile(this.pathOf(to.place, to.name), content, { mode: 0o666, draft });
  }

  /** Takes away what processes that were killed had begun to write for a run. */
  async sweep(runId: string): Promise<void> {
    for (const name of await readdir(this.pathOf("processing"))) {
      if (name.startsWith(`.${runId}.`)) await rm(this.pathOf("processing", name), { force: true });
    }
  }

  /** SHA-256 of a file, hex; undefined where there is no regular file of this name any more. */
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

/** Lets a fault of the file system pass as undefined where it means what was expected. */
function unless(code: string): (thrown: unknown) => undefined {
  return (thrown) => {
    if ((thrown as NodeJS.ErrnoException).code !== code) throw thrown;
    return undefined;
  };
}
