// Spends a quota of the platform together with the workers of simfleet: SIMFLEET_REDIS_URL is theirs.
import { openLimiter } from "simfleet/limiter";

/** Stands for the program's own request; a real one reads the numbers from the headers of the response. */
function request(): Promise<{ status: number; limit: number; remaining: number; seconds: number }> {
  return Promise.resolve({ status: 200, limit: 600, remaining: 599, seconds: 60 });
}

const limiter = openLimiter({ redis: process.env.SIMFLEET_REDIS_URL ?? "redis://127.0.0.1:6379" });
try {
  const permit = await limiter.acquire("example.Sim");
  permit.sending();
  try {
    const { status, limit, remaining, seconds } = await request();
    permit.answered({ reading: { limit, remaining, secondsBeforeRefresh: seconds }, throttled: status === 429 });
  } catch (error) {
    permit.lost(); // the platform may have counted the call
    throw error;
  }
  await limiter.acquire("example.Sim").then((second) => second.giveBack());
  const { limit, left } = await limiter.state("example.Sim");
  console.log(`${left} of ${limit} calls are left.`);
} finally {
  await limiter.close();
}
