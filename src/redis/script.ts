/** A Lua script loaded from files. It is run by digest, and sent in full only if Redis does not have it cached. */
import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { ChainableCommander } from "ioredis";

/** Runner of scripts: Redis, or a store in this process. */
export interface ScriptRunner {
  evalsha(digest: string, keys: number, ...keysAndArgs: (string | number | Buffer)[]): Promise<unknown>;
  eval(source: string, keys: number, ...keysAndArgs: (string | number | Buffer)[]): Promise<unknown>;
}

/** A file of Lua that lies next to the program's code. */
export function readLua(file: URL): string {
  return readFileSync(file, "utf8");
}

export class Script {
  readonly #source: string;
  readonly #digest: string;

  private constructor(source: string) {
    this.#source = source;
    this.#digest = hash("sha1", source);
  }

  /** Reads the parts of one script, ordered by dependency. */
  static load(...parts: readonly URL[]): Script {
    return new Script(parts.map(readLua).join("\n"));
  }

  /** Adds the script to a pipeline, in full: a pipeline cannot be sent again with what Redis did not have cached. */
  addTo(pipeline: ChainableCommander, keys: readonly string[], args: readonly (string | number | Buffer)[]): void {
    pipeline.eval(this.#source, keys.length, ...keys, ...args);
  }

  /** Runs the script; the caller knows the type of its result. */
  async run(
    redis: ScriptRunner,
    keys: readonly string[],
    args: readonly (string | number | Buffer)[],
  ): Promise<unknown> {
    try {
      return await redis.evalsha(this.#digest, keys.length, ...keys, ...args);
    } catch (thrown) {
      if (!(thrown instanceof Error) || !thrown.message.startsWith("NOSCRIPT")) throw thrown;
      return redis.eval(this.#source, keys.length, ...keys, ...args);
    }
  }
}
