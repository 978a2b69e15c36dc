/** What every store needs: Redis, the spelling of its keys, and how much of the event feed is kept. */
import type { Redis } from "ioredis";
import type { FeedBounds } from "#events/feed.ts";
import type { Keys } from "#redis/keys.ts";

export interface StoreDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly bounds: FeedBounds;
}
