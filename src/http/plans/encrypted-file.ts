/**
 * Encrypts a file that may contain secrets while it is on disk. A random key is sealed for this file and stored as its
 * first line; the ciphertext (AES-256-GCM) and its tag of 16 bytes follow. The file is written and read as a stream.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { SimfleetError } from "#core/errors.ts";
import { openFile } from "#core/files/open-file.ts";
import { Secret } from "#core/secret.ts";
import type { Seal } from "#engine/seal.ts";

const purpose = "an uploaded file";
const algorithm = "aes-256-gcm";
/** The same for all files: a key encrypts a single one. */
const nonce = Buffer.alloc(12);
const tagBytes = 16;
/** A sealed key has about 250 bytes. */
const mostKeyBytes = 1_024;

/** Yields the file that encrypts what the source contains. */
export async function* encrypted(source: AsyncIterable<Buffer>, seal: Seal): AsyncGenerator<Buffer> {
  const key = randomBytes(32);
  const secret = new Secret(key.toString("base64url"));
  try {
    yield Buffer.from(`${await seal.seal(purpose, { key: secret })}\n`);
  } finally {
    secret.forget();
  }
  const cipher = createCipheriv(algorithm, key, nonce);
  for await (const chunk of source) yield cipher.update(chunk);
  yield cipher.final();
  yield cipher.getAuthTag();
}

/**
 * Yields what an encrypted file contains.
 * @throws SimfleetError SEAL_DECRYPTION_FAILED; at the end if the content was altered
 */
export async function* decrypted(path: string, seal: Seal): AsyncGenerator<Buffer> {
  const file = await openFile(path, { links: "refuse" });
  try {
    const { size } = await file.stat();
    const head = await readAt(file, 0, Math.min(size, mostKeyBytes));
    const start = head.indexOf(10) + 1;
    const key = await keyIn(head.toString("latin1", 0, Math.max(0, start - 1)), seal);
    const end = Math.max(start, size - tagBytes);
    const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
    const tag = await readAt(file, end, tagBytes);
    if (tag.length < tagBytes) throw altered();
    decipher.setAuthTag(tag);
    if (end > start) {
      for await (const chunk of file.createReadStream({ start, end: end - 1, autoClose: false })) {
        yield decipher.update(chunk as Buffer);
      }
    }
    try {
      decipher.final();
    } catch {
      throw altered();
    }
  } finally {
    await file.close();
  }
}

function altered(): SimfleetError {
  return new SimfleetError("SEAL_DECRYPTION_FAILED", "The uploaded file was altered on disk: send it again");
}

async function keyIn(sealed: string, seal: Seal): Promise<Buffer> {
  const { key } = await seal.open(purpose, sealed);
  const bytes = Buffer.from(key?.reveal() ?? "", "base64url");
  key?.forget();
  return bytes;
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}
