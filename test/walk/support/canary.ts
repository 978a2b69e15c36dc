/** Where a secret could be left, and the forms in which it could stand there. */
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Redis } from "ioredis";
import type { RunningProcess } from "./process.ts";

/** The forms in which a secret could stand in a text. */
function formsOf(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const url = encodeURIComponent(secret);
  const base64 = [0, 1, 2].map((offset) => {
    const coded = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]).toString("base64");
    return coded.slice(4, -4);
  });
  const form = new URLSearchParams([["", secret]]).toString().slice(1);
  const forms = [secret, json, JSON.stringify(json).slice(1, -1), url, url.toLowerCase(), form, ...base64];
  return [...new Set([...forms, Buffer.from(secret).toString("hex")])];
}

export function found(text: string, secrets: readonly string[]): string[] {
  return secrets.flatMap((secret) => formsOf(secret).filter((form) => text.includes(form)));
}

/** What other users of the machine see of a process. */
export async function titleOf(running: RunningProcess): Promise<string> {
  const read = (name: string): Promise<string> => readFile(`/proc/${running.pid}/${name}`, "utf8").catch(() => "");
  return `${await read("cmdline")}\n${await read("comm")}`;
}

/** All keys and values, packed ones unpacked by nobody: what lies in Redis as it lies there. */
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
      return JSON.stringify(await redis.hgetall(key));
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

export async function textsIn(folder: string): Promise<string> {
  const names = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const texts = names.map((entry) => readFile(join(entry.parentPath, entry.name), "latin1"));
  return (await Promise.all(texts)).join("\n");
}
