/**
 * The bearer tokens of the control API in Redis, in addition to those of the configuration. Only the SHA-256 of a token
 * is stored. Workers look tokens up with each request, so a new one is valid and a revoked one invalid at once.
 */
import { hash, randomBytes } from "node:crypto";
import { SimfleetError } from "#core/errors.ts";
import { inTime, isoTime, minuteMs, secondMs } from "#core/time.ts";
import { type RecordOf, reportOf } from "#contract/fields.ts";
import { type Endpoint, endpoint } from "#contract/route.ts";
import type { Kernel } from "#kernel/kernel.ts";
import * as routes from "./contract.ts";

/** A token as others know it. */
export type Bearer = Pick<RecordOf<routes.TokenReport>, "name" | "role" | "expiresAtMs">;

interface StoredToken extends Bearer {
  readonly createdAtMs: number;
  readonly createdBy: string;
}

/** How long a request waits for the look-up of its token. */
const patienceMs = 5 * secondMs;

type Deps = Pick<Kernel, "redis" | "keys" | "clock"> & {
  /** Tokens of the setting `http.tokens`. */
  readonly configured: readonly Bearer[];
};

export type Tokens = ReturnType<typeof openTokens>;

export function openTokens({ redis, keys, clock, configured }: Deps) {
  /** Hash: SHA-256 of a token to the token's description, JSON. */
  const key = keys.of("tokens");
  /** Hash: name to the time of the last use. */
  const usedKey = keys.of("tokens", "used");
  const noted = new Map<string, number>();

  const list = async (): Promise<routes.TokenReport[]> => {
    const used = await redis.hgetall(usedKey);
    const stored = (await redis.hvals(key)).map((text) => JSON.parse(text) as StoredToken);
    return [...configured, ...stored]
      .map((token) => describe(token, used))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  };

  return {
    list,

    /**
     * The owner of the token with this SHA-256, in hexadecimal digits; it may have expired.
     * @throws SimfleetError STORE_UNAVAILABLE
     */
    async bearerOf(sha256: string): Promise<Bearer | undefined> {
      const found = await inTime(clock, patienceMs, redis.hget(key, sha256)).catch(() => undefined);
      if (found === undefined) {
        throw new SimfleetError(
          "STORE_UNAVAILABLE",
          "The token cannot be looked up: Redis does not respond. Try again",
        );
      }
      return found.value === null ? undefined : (JSON.parse(found.value) as StoredToken);
    },

    /** Notes the use of a token, at most once a minute. */
    noteUse(name: string): void {
      const nowMs = clock.wallMs();
      if (Math.abs(nowMs - (noted.get(name) ?? 0)) < minuteMs) return;
      noted.set(name, nowMs);
      // The next use notes it again.
      redis.hset(usedKey, name, nowMs).catch(() => noted.delete(name));
    },

    /** @throws SimfleetError REQUEST_INVALID for a name that is taken, or a time in the past */
    async create(wanted: Bearer, by: string): Promise<routes.TokenReport & { readonly token: string }> {
      const nowMs = clock.wallMs();
      const { name, expiresAtMs } = wanted;
      if ((expiresAtMs ?? Number.POSITIVE_INFINITY) <= nowMs) {
        throw new SimfleetError("REQUEST_INVALID", `The token would have expired at ${isoTime(expiresAtMs)} already`);
      }
      if ((await list()).some((token) => token.name === name)) {
        const message = `There is a token ${name} already: choose another name, or revoke it`;
        throw new SimfleetError("REQUEST_INVALID", message);
      }
      const token = `sf_${randomBytes(32).toString("base64url")}`;
      const stored: StoredToken = { ...wanted, createdAtMs: nowMs, createdBy: by };
      await redis.hset(key, hash("sha256", token), JSON.stringify(stored));
      return { ...describe(stored, {}), token };
    },

    /** @throws SimfleetError NOT_FOUND, REQUEST_INVALID for a token of the configuration */
    async revoke(name: string): Promise<void> {
      const stored = Object.entries(await redis.hgetall(key));
      const found = stored.filter(([, text]) => (JSON.parse(text) as StoredToken).name === name);
      if (found.length > 0) {
        await redis.hdel(key, ...found.map(([sha256]) => sha256));
        await redis.hdel(usedKey, name);
        return;
      }
      if (configured.some((token) => token.name === name)) {
        const message = `The token ${name} is in the configuration: remove it from http.tokens and restart the workers`;
        throw new SimfleetError("REQUEST_INVALID", message);
      }
      throw new SimfleetError("NOT_FOUND", `There is no token ${name}; list them with: simfleet tokens list`);
    },
  };
}

function describe(token: Bearer & Partial<StoredToken>, used: Readonly<Record<string, string>>): routes.TokenReport {
  const lastUsed = used[token.name];
  return reportOf(routes.tokenReport, {
    ...token,
    origin: token.createdAtMs === undefined ? "configuration" : "stored",
    lastUsedAtMs: lastUsed === undefined ? undefined : Number(lastUsed),
  });
}

export function tokenEndpoints(tokens: Tokens): readonly Endpoint[] {
  return [
    endpoint(routes.listTokens, async () => ({ tokens: await tokens.list(), nextCursor: null })),
    endpoint(routes.createToken, ({ body: { name, role, expires }, by }) =>
      tokens.create({ name, role, ...(expires === undefined ? {} : { expiresAtMs: Date.parse(expires) }) }, by),
    ),
    endpoint(routes.revokeToken, ({ params }) => tokens.revoke(params.name)),
  ];
}
