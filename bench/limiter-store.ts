/**
 * Measures the limiter's store in memory: how long it takes to open, and how many exchanges with a bucket it makes per
 * second, one after the other, each with a response to report.
 *
 *   npm run bench:limiter-store
 */
import { Limiter } from "#limiter/limiter.ts";
import { Keys } from "#redis/keys.ts";

const exchanges = 20_000;
const beginMs = performance.now();
const { openMemoryStore } = await import("#limiter/memory/memory-store.ts");
const store = await openMemoryStore(() => Date.now());
const openedMs = performance.now() - beginMs;
const limiter = new Limiter({ redis: store, keys: new Keys() });
const cpu = process.cpuUsage();
for (let i = 0; i < exchanges; i += 1) {
  const reading = { limit: 600, remaining: 599 - (i % 600), secondsBeforeRefresh: 30 };
  const times = { grantedAtMs: Date.now() - 5, sentAfterMs: 1, receivedAtMonotonicMs: performance.now() };
  await limiter.observe("b", { ...times, reading });
}
const { user, system } = process.cpuUsage(cpu);
console.log(`open       ${openedMs.toFixed(0)} ms`);
console.log(`exchanges  ${Math.round((exchanges * 1e6) / (user + system))} per second of processor time`);
store.close();
