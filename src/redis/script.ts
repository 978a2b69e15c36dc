/** A Lua script that lies in files of its own, run by its digest and sent whole only where Redis does not have it. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Redis } from "ioredis";

export class Script {
  readonly #source: string;
  readonly #digest: string;

  private constructor(source: string) {
    this.#source = source;
    this.#digest = createHash("sha1").update(source).digest("hex");
  }

  /** Reads the parts of one script, in the order in which they use each other. */
  static load(...deps: readonly URL[]): Script {
    return new Script(deps.map((part) => readFileSync(part, "utf8")).join("\n"));
  }

  /** Runs the script; what it returns is the caller's to know. */
  async run(redis: Redis, keys: readonly string[], args: readonly (string | number | Buffer)[]): Promise<unknown> {
    try {
      return await redis.evalsha(this.#digest, keys.length, ...keys, ...args);
    } catch (thrown) {
      if (!(thrown instanceof Error) || !thrown.message.startsWith("NOSCRIPT")) throw thrown;
      return redis.eval(this.#source, keys.length, ...keys, ...args);
    }
  }
}
