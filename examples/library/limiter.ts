// Spends a quota of the platform together with the workers of simfleet: SIMFLEET_REDIS_URL is theirs.
import { openLimiter, readPlatformHeaders } from "simfleet/limiter";

/** Stands for the program's own request, and returns the status and the headers of its response. */
function request(): Promise<{ status: number; headers: Headers }> {
  const headers = new Headers({
    "X-Svc-RateLimit-Limit": "600",
    "X-Svc-RateLimit-Remaining": "599",
    "X-Svc-RateLimit-Seconds-Before-Refresh": "60",
  });
  return Promise.resolve({ status: 200, headers });
}

const limiter = openLimiter({ redis: process.env.SIMFLEET_REDIS_URL ?? "redis://127.0.0.1:6379" });
try {
  const permit = await limiter.acquire("example.Sim");
  permit.sending();
  try {
    const { status, headers } = await request();
    permit.answered({ reading: readPlatformHeaders(headers), throttled: status === 429 });
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
