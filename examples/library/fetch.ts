// Reads 20 pages of an API as fast as its quota allows: `node fetch.ts https://api.example.com`. The API says in the headers
// RateLimit and RateLimit-Policy what its quota is.
import { openLimiter, readRateLimitHeaders, readRetryAfter } from "simfleet/limiter";

const [api = "https://api.example.com"] = process.argv.slice(2);
const limiter = openLimiter({ store: "memory" });

/** As fetch, but it waits until the quota has room, and calls again after a 429. */
async function politeFetch(url: string): Promise<Response> {
  for (;;) {
    const permit = await limiter.acquire(api).catch(waitIfThrottled);
    if (permit === undefined) continue;
    permit.sending();
    const response = await fetch(url).catch((error: unknown) => {
      permit.lost(); // the API may have counted the call
      throw error;
    });
    const throttled = response.status === 429;
    const { headers } = response;
    permit.answered({ policies: readRateLimitHeaders(headers), throttled, retryAfterMs: readRetryAfter(headers) });
    if (!throttled) return response;
  }
}

/** The quota is used up for longer than a call should wait by itself: the error says for how long. */
async function waitIfThrottled(error: Error & { code?: string; retryAfterMs?: number }): Promise<undefined> {
  if (error.code !== "PLATFORM_THROTTLED") throw error;
  await new Promise((resolve) => setTimeout(resolve, error.retryAfterMs));
}

try {
  const numbers = Array.from({ length: 20 }, (_, number) => number);
  const pages = await Promise.all(numbers.map(async (number) => (await politeFetch(`${api}/${number}`)).text()));
  console.log(`${pages.filter((page) => page !== "").length} pages were read.`);
} finally {
  await limiter.close();
}
