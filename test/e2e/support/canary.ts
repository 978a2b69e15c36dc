/** Where a secret could leak, and the forms it could have there. */
import { existsSync, readFileSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { inflateRawSync } from "node:zlib";
import type { Redis } from "ioredis";
import type { RunningProcess } from "./process.ts";

/** Ways in which a platform or a log could encode a secret; each transforms any text. */
export const encodings: Readonly<Record<string, (secret: string) => string>> = {
  "as it is": (secret) => secret,
  "base64 with padding": (secret) => Buffer.from(secret).toString("base64"),
  "base64 without padding": (secret) => Buffer.from(secret).toString("base64").replaceAll("=", ""),
  "base64 of a longer text": (secret) => Buffer.from(`user:${secret}:1`).toString("base64"),
  base64url: (secret) => Buffer.from(secret).toString("base64url"),
  "hexadecimal in lower case": (secret) => Buffer.from(secret).toString("hex"),
  "hexadecimal in upper case": (secret) => Buffer.from(secret).toString("hex").toUpperCase(),
  "hexadecimal with colons": (secret) => hexBytes(secret).join(":"),
  "hexadecimal as in C": (secret) =>
    hexBytes(secret)
      .map((byte) => `0x${byte}`)
      .join(", "),
  "a list of bytes": (secret) => [...Buffer.from(secret)].join(", "),
  "percent-encoded in upper case": (secret) => encodeURIComponent(secret),
  "percent-encoded in lower case": (secret) =>
    encodeURIComponent(secret).replaceAll(/%../g, (code) => code.toLowerCase()),
  "percent-encoded twice": (secret) => encodeURIComponent(encodeURIComponent(secret)),
  "percent-encoded byte by byte": (secret) =>
    hexBytes(secret)
      .map((byte) => `%${byte}`)
      .join(""),
  "percent-encoded by RFC 3986": (secret) =>
    encodeURIComponent(secret).replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`),
  "a form field": (secret) => new URLSearchParams([["", secret]]).toString().slice(1),
  "JSON-escaped": (secret) => JSON.stringify(secret).slice(1, -1),
  "JSON-escaped twice": (secret) => JSON.stringify(JSON.stringify(secret)).slice(3, -3),
  "JSON-escaped with slashes": (secret) =>
    JSON.stringify(secret)
      .slice(1, -1)
      .replaceAll("/", String.raw`\/`),
  "Unicode escapes": (secret) =>
    codeUnits(secret)
      .map((code) => String.raw`\u${code.toString(16).padStart(4, "0")}`)
      .join(""),
  "JavaScript byte escapes": (secret) =>
    [...Buffer.from(secret, "latin1")].map((byte) => String.raw`\x${byte.toString(16).padStart(2, "0")}`).join(""),
  "HTML entities by name": (secret) => secret.replaceAll(/[&<>"']/g, (one) => named[one] ?? one),
  "base64 in JSON with escaped slashes": (secret) =>
    Buffer.from(secret)
      .toString("base64")
      .replaceAll("/", String.raw`\/`),
};

const named: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

function hexBytes(text: string): string[] {
  return [...Buffer.from(text)].map((byte) => byte.toString(16).padStart(2, "0"));
}

function codeUnits(text: string): number[] {
  return Array.from({ length: text.length }, (_, i) => text.charCodeAt(i));
}

/** The forms in which a secret could appear in a text; for a secret of plain characters some are identical. */
export function formsOf(secret: string): string[] {
  // Inside a longer encoded text, by its offset.
  const within = [0, 1, 2].map((offset) => {
    const coded = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]).toString("base64");
    return coded.slice(4, -4);
  });
  const inAddress = within.map((coded) => coded.replaceAll("+", "-").replaceAll("/", "_"));
  return [...within, ...inAddress, ...Object.values(encodings).map((encode) => encode(secret))];
}

/** The forms of secrets that are in a text. Files are read as Latin-1, in which a letter beyond ASCII is two. */
export function found(text: string, secrets: readonly string[]): string[] {
  const isIn = (form: string): boolean =>
    [form, Buffer.from(form).toString("latin1")].some((one) => text.includes(one));
  return secrets.flatMap((secret) => [...new Set(formsOf(secret))].filter(isIn));
}

/** What other users of the machine see of a process. */
export async function titleOf(running: RunningProcess): Promise<string> {
  const read = (name: string): Promise<string> => readFile(`/proc/${running.pid}/${name}`, "utf8").catch(() => "");
  return `${await read("cmdline")}\n${await read("comm")}`;
}

/** All keys and values as stored in Redis, with compressed data also decompressed. */
export async function dumpOf(redis: Redis): Promise<string> {
  const parts: string[] = [];
  for await (const keys of redis.scanStream({ count: 500 })) {
    for (const key of keys as string[]) parts.push(key, await valueOf(redis, key));
  }
  return parts.join("\n");
}

async function valueOf(redis: Redis, key: string): Promise<string> {
  switch (await redis.type(key)) {
    case "hash":
      return Object.entries(await redis.hgetallBuffer(key))
        .map(([field, value]) => `${field}\n${value.toString()}\n${unpacked(value)}`)
        .join("\n");
    case "set":
      return JSON.stringify(await redis.smembers(key));
    case "zset":
      return JSON.stringify(await redis.zrange(key, "0", "-1"));
    case "list":
      return JSON.stringify(await redis.lrange(key, 0, -1));
    case "stream":
      return JSON.stringify(await redis.xrange(key, "-", "+"));
    default:
      return (await redis.get(key)) ?? "";
  }
}

/** Rows and outcomes of runs are deflated. */
function unpacked(value: Buffer): string {
  try {
    return inflateRawSync(value).toString();
  } catch {
    return "";
  }
}

/** The content of every file of a folder, Redis's own among them. @param isExempt by the path in the folder */
export async function textsIn(folder: string, isExempt: (path: string) => boolean = () => false): Promise<string> {
  const entries = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const paths = entries.map((entry) => join(entry.parentPath, entry.name));
  return paths
    .filter((path) => !isExempt(path.slice(folder.length + 1)))
    .map(textOf)
    .join("\n");
}

/** Content of a file; empty if it is gone, since a server that is shutting down deletes its files. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch (thrown) {
    if (existsSync(path)) throw thrown;
    return "";
  }
}
