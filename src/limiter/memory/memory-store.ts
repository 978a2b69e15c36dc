/**
 * A store in this process, instead of Redis: it runs the same Lua scripts, in Lua compiled to WebAssembly, on tables
 * (store.lua). So the rules exist once. What is stored ends with the process.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readLua } from "#redis/script.ts";
import wasmoon, { type LuaEngine } from "wasmoon";
import type { LimiterStore } from "../store.ts";

/** Separates texts on their way to and from Lua, which takes one text much faster than a list. */
const separator = "\u0001";

/** The build copies it to here; in the sources it lies in its package, where it is found by itself. */
const builtWasm = fileURLToPath(new URL("./glue.wasm", import.meta.url));

interface StoreFunctions {
  /** Compiles a script under a name. */
  readonly load: (digest: string, source: string) => void;
  /** Runs a script, or a command for `run` "": the values of the reply, `-` for none. */
  readonly run: (nowMs: number, digest: string, keys: number, values: string) => string;
}

/** Lua 5.1 has no `load` of texts, and its `unpack` is a global. */
const entry = `
unpack = unpack or table.unpack
redis = { call = store.call }
local scripts = {}
local function load_script(digest, source)
  scripts[digest] = assert((loadstring or load)('local KEYS, ARGV = ...\\n' .. source))
end
local function run(now_ms, digest, key_count, values)
  store.at(now_ms)
  local keys, args = {}, {}
  for value in string.gmatch(values, '([^\\1]*)\\1') do
    if #keys < key_count then keys[#keys + 1] = value else args[#args + 1] = value end
  end
  local reply
  if digest == '' then reply = store.call(unpack(args)) else reply = scripts[digest](keys, args) end
  if type(reply) ~= 'table' then reply = { reply } end
  for i = 1, #reply do reply[i] = reply[i] == false and '-' or '=' .. tostring(reply[i]) end
  return table.concat(reply, '\\1')
end
return { load = load_script, run = run }
`;

/** @param nowMs the time, milliseconds since 1970 */
export async function openMemoryStore(nowMs: () => number): Promise<LimiterStore & { close(): void }> {
  const factory = new wasmoon.LuaFactory(existsSync(builtWasm) ? builtWasm : undefined);
  const engine: LuaEngine = await factory.createEngine({ injectObjects: false, enableProxy: false });
  const store = readLua(new URL("./store.lua", import.meta.url));
  const lua = (await engine.doString(`local store = (function()\n${store}\nend)()\n${entry}`)) as StoreFunctions;
  return new MemoryStore(lua, nowMs, () => engine.global.close());
}

class MemoryStore implements LimiterStore {
  readonly #lua: StoreFunctions;
  readonly #nowMs: () => number;
  readonly #loaded = new Set<string>();
  readonly #free: () => void;
  #isClosed = false;

  constructor(lua: StoreFunctions, nowMs: () => number, free: () => void) {
    this.#lua = lua;
    this.#nowMs = nowMs;
    this.#free = free;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#free();
  }

  evalsha(digest: string, keys: number, ...values: (string | number | Buffer)[]): Promise<unknown> {
    if (!this.#loaded.has(digest)) return Promise.reject(new Error("NOSCRIPT No matching script."));
    return this.#run(digest, keys, values);
  }

  eval(source: string, keys: number, ...values: (string | number | Buffer)[]): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(new Error("The store is closed"));
    const digest = createHash("sha1").update(source).digest("hex");
    this.#lua.load(digest, source);
    this.#loaded.add(digest);
    return this.#run(digest, keys, values);
  }

  async hgetall(key: string): Promise<Record<string, string>> {
    const found = await this.#command("HGETALL", key);
    const pairs: Record<string, string> = {};
    for (let at = 0; at < found.length; at += 2) pairs[found[at] ?? ""] = found[at + 1] ?? "";
    return pairs;
  }

  async hmget(key: string, ...fields: string[]): Promise<(string | null)[]> {
    return this.#command("HMGET", key, ...fields);
  }

  async hset(key: string, values: Readonly<Record<string, string>>): Promise<number> {
    return Number((await this.#command("HSET", key, ...Object.entries(values).flat()))[0]);
  }

  async pexpire(key: string, ms: number): Promise<number> {
    return Number((await this.#command("PEXPIRE", key, String(ms)))[0]);
  }

  async smembers(key: string): Promise<string[]> {
    return this.#command("SMEMBERS", key) as Promise<string[]>;
  }

  async exists(key: string): Promise<number> {
    return Number((await this.#command("EXISTS", key))[0]);
  }

  #command(...words: string[]): Promise<(string | null)[]> {
    return this.#run("", 0, words);
  }

  /** Rejects as Redis does, instead of throwing. */
  // oxlint-disable-next-line typescript/require-await -- async only so that an error becomes a rejection
  async #run(digest: string, keys: number, values: readonly (string | number | Buffer)[]): Promise<(string | null)[]> {
    if (this.#isClosed) throw new Error("The store is closed");
    const texts = values.map((value) => {
      const text = String(value);
      if (text.includes(separator)) throw new Error("A name must not contain the character U+0001");
      return text + separator;
    });
    const reply = this.#lua.run(this.#nowMs(), digest, keys, texts.join(""));
    if (reply === "") return [];
    return reply.split(separator).map((value) => (value === "-" ? null : value.slice(1)));
  }
}
