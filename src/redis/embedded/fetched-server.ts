/**
 * Verifies the downloaded copy of redis-server in the user's cache folder before it is run. Only this user and root may be
 * able to change it, and its files must match the digests recorded at download.
 */
import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SimfleetError } from "#core/errors.ts";
import { isOurs, readFileOnce } from "#core/files/open-file.ts";
import { checkFolder, replaceFile } from "#core/files/write-file.ts";

const recordName = "fetched.json";
const mostBytes = 256 * 1_048_576;

export interface FetchRecord {
  /** When it was downloaded, or when a renewal was last tried. */
  readonly checkedAtMs: number;
  /** SHA-256 of each file, hex, by its path in the folder. */
  readonly files: Readonly<Record<string, string>>;
}

/**
 * Returns the record of a copy after verifying all its files.
 * @returns undefined if there is no copy, or one of an earlier version without a record
 * @throws SimfleetError STORE_UNAVAILABLE if another user could have changed it, or it was changed
 */
export async function verifyFetched(home: string): Promise<FetchRecord | undefined> {
  try {
    const record = JSON.parse(contentOf(join(home, recordName)).toString("utf8")) as FetchRecord;
    for (const folder of [dirname(home), home, join(home, "lib")]) {
      const { mode } = await checkFolder(folder);
      if ((mode & 0o022) !== 0) throw new Error(`the folder ${folder} can be written to by others`);
    }
    const found = await digestsOf(home);
    const names = new Set([...Object.keys(found), ...Object.keys(record.files)]);
    const changed = [...names].find((name) => found[name] !== record.files[name]);
    if (changed !== undefined) throw new Error(`${join(home, changed)} is not what was downloaded`);
    return record;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    const why = (thrown as Error).message;
    throw new SimfleetError(
      "STORE_UNAVAILABLE",
      `The downloaded redis-server in ${home} was not started: ${why}. Delete the folder to download it again`,
      { cause: thrown },
    );
  }
}

/** Records the digests of a download. */
export async function recordFetched(home: string, checkedAtMs: number): Promise<void> {
  await writeRecord(home, { checkedAtMs, files: await digestsOf(home) });
}

export async function writeRecord(home: string, record: FetchRecord): Promise<void> {
  await replaceFile(join(home, recordName), `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o600 });
}

async function digestsOf(home: string): Promise<Record<string, string>> {
  const libraries = await readdir(join(home, "lib"));
  const names = ["redis-server", ...libraries.map((name) => `lib/${name}`)];
  const digests = names.map((name) => [
    name,
    createHash("sha256")
      .update(contentOf(join(home, name)))
      .digest("hex"),
  ]);
  return Object.fromEntries(digests) as Record<string, string>;
}

function contentOf(path: string): Buffer {
  const { bytes, uid, mode } = readFileOnce(path, { links: "refuse", mostBytes });
  if (!isOurs(uid)) throw new Error(`${path} belongs to another user (ID ${uid})`);
  if ((mode & 0o022) !== 0) throw new Error(`${path} can be written to by others`);
  return bytes;
}
