/** What the limiter uses of Redis; `memory/` has the same for one process. */
import type { ScriptRunner } from "#redis/script.ts";

export interface LimiterStore extends ScriptRunner {
  hgetall(key: string): Promise<Record<string, string>>;
  hmget(key: string, ...fields: string[]): Promise<(string | null)[]>;
  hset(key: string, values: Readonly<Record<string, string>>): Promise<number>;
  pexpire(key: string, ms: number): Promise<number>;
  smembers(key: string): Promise<string[]>;
  exists(key: string): Promise<number>;
}
