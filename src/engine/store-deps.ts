/** Dependencies of every store: Redis, the key builder, and the size limits of the event stream. */
import type { Redis } from "ioredis";
import type { FeedBounds } from "#events/feed.ts";
import type { Keys } from "#redis/keys.ts";

export interface StoreDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly bounds: FeedBounds;
}
