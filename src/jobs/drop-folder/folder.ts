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
      const name = rawName.toString(); // invalid UTF-8 is shown as U+FFFD
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

// File names in a drop folder. The name of a claimed file contains the id of its run, so that users can look up its outcome
// and no two files ever have the same name.

/** Names that programs use for unfinished files: rsync, FTP clients, browsers, editors. */
const unfinished = /^\.|\.(?:part|tmp|filepart|crdownload)$|~$/i;
const csv = /\.csv$/i;
const taken = /^(?<stem>[^]*)\.(?<runId>r-\d{8}-\d{6}-[a-z0-9]{4,16})\.csv$/;
/** Most file systems limit names to 255 bytes; the rest is for the run's id and the longest suffix. */
const maxStemBytes = 180;

/** A claimed file. */
export interface TakenName {
  readonly name: string;
  readonly runId: string;
  readonly original: string;
}

/** Characters that terminals, logs and lists cannot show: control characters, line breaks, changes of direction. */
const unsafe = /[\p{Cc}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\uFFFD]/gu;

/** Whether a file with this name is meant as input, even if its name is not acceptable. */
export function isInput(name: string): boolean {
  const shown = name.replaceAll(unsafe, "");
  return csv.test(shown) && !unfinished.test(shown);
}

/** Why a file cannot be accepted with its name; undefined if it can. */
export function nameFault(name: string): string | undefined {
  if (name.includes("\uFFFD")) return "Its name is not valid UTF-8. Rename it, and put it into the folder again.";
  if (name.search(unsafe) < 0) return undefined;
  return "Its name has control characters or line breaks in it. Rename it, and put it into the folder again.";
}

/** The name with _ in place of every unsafe character. */
export function safeName(name: string): string {
  const safe = name.replaceAll(unsafe, "_");
  return csv.test(safe) ? safe : `${safe}.csv`;
}

/** `fleet.csv` becomes `fleet.r-20261120-103045-x7k2m9ab.csv`. */
export function takenName(original: string, runId: string): string {
  return `${shortened(original.replace(csv, ""))}.${runId}.csv`;
}

/** @returns undefined if the name is not that of a claimed file */
export function readTakenName(name: string): TakenName | undefined {
  const { stem, runId } = taken.exec(name)?.groups ?? {};
  return stem === undefined || runId === undefined ? undefined : { name, runId, original: `${stem}.csv` };
}

/** The name of the file that is written next to a claimed file: its results, or its problems. */
export function besideName(name: string, ending: "results.csv" | "problem.txt"): string {
  return name.replace(csv, `.${ending}`);
}

function shortened(stem: string): string {
  let short = "";
  for (const character of stem) {
    if (Buffer.byteLength(short + character) > maxStemBytes) break;
    short += character;
  }
  return short;
}
