/** Requests that are sent again with the same Idempotency-Key. */
import { describe, expect, test, vi } from "vitest";
import { Redis } from "ioredis";
import { claimKey } from "#http/idempotency.ts";
import { openTestRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { ControlHarness } from "./support/control-harness.ts";

const { redis, keys } = openTestRedis();
const harness = await ControlHarness.ofFile({ works: true });

describe("requests with an Idempotency-Key", () => {
  const runIds = async (): Promise<string[]> =>
    (await harness.runs.list({ limit: 100 })).runs.map(({ runId }) => runId);
  const start = (key: string, body: string, query = ""): Promise<Response> =>
    harness.ask(`/v1/runs${query}`, {
      as: "operator",
      method: "POST",
      body,
      headers: {
        "content-type": "text/csv",
        "idempotency-key": key,
      },
    });

  test("a repeated request with an Idempotency-Key is executed once and gets the first response again", async () => {
    const before = await runIds();
    const first = await start("a", harness.csv(3));
    const again = await start("a", harness.csv(3));
    expect([first.status, first.headers.get("idempotent-replayed")]).toEqual([202, null]);
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([202, "true"]);
    expect(again.headers.get("location")).toBe(first.headers.get("location"));
    expect(await again.text()).toBe(await first.text());
    expect(await runIds()).toHaveLength(before.length + 1);
  });

  test("a different request with a used Idempotency-Key is refused, but keys of other callers are independent", async () => {
    await start("b", harness.csv(3));
    for (const other of [await start("b", harness.csv(2)), await start("b", harness.csv(3), "?rate=5")]) {
      expect([other.status, await other.json()]).toMatchObject([422, { code: "IDEMPOTENCY_REUSED" }]);
    }
    const headers = { "content-type": "text/csv", "idempotency-key": "b" };
    const admin = await harness.ask("/v1/runs", { as: "admin", method: "POST", body: harness.csv(2), headers });
    expect(admin.status).toBe(202);
    const faulty = await start("ä".repeat(3), harness.csv(2)).catch(() => undefined);
    expect(faulty?.status ?? 400).toBe(400);
  });

  test("a refused request has no effect and can be corrected under the same Idempotency-Key", async () => {
    const broken = await start("c", "simId\nx\n");
    expect(broken.status).toBe(422);
    expect((await start("c", harness.csv(1))).status).toBe(202);
  });

  test("a request repeated after its process died finds the run that was created", async () => {
    const before = await runIds();
    const { set } = Redis.prototype;
    // The process dies between the commit and the response: nothing after it happens.
    const killed = vi.spyOn(Redis.prototype, "set").mockImplementation(async function (
      this: Redis,
      ...args: unknown[]
    ) {
      if (String(args[1]).includes('"answer"')) throw new Error("killed");
      return Reflect.apply(set, this, args) as Promise<"OK">;
    });
    expect((await start("d", harness.csv(3))).status).toBe(500);
    const [created, ...others] = (await runIds()).filter((runId) => !before.includes(runId));
    expect(others).toEqual([]);
    killed.mockRestore();
    const again = await start("d", harness.csv(3));
    expect([again.status, await again.json()]).toMatchObject([202, { runId: created }]);
    expect(await runIds()).toHaveLength(before.length + 1);
    expect((await start("d", harness.csv(3))).headers.get("idempotent-replayed")).toBe("true");
  });

  test("an Idempotency-Key also prevents duplicate plans, retries, and syncs", async () => {
    const post = async (path: string, body: string | null): Promise<[number, string | null, string]> => {
      const headers = { "idempotency-key": "others", ...(body === null ? {} : { "content-type": "text/csv" }) };
      const answer = await harness.ask(path, { as: "operator", method: "POST", body, headers });
      return [answer.status, answer.headers.get("idempotent-replayed"), await answer.text()];
    };
    const { runId } = JSON.parse((await post("/v1/runs", `${harness.csv(1)}8942319999999999999,s1.fast\n`))[2]) as {
      runId: string;
    };
    await until("the run is over", async () => (await harness.runs.show(runId)).finishedAt !== null);
    await harness.runs.control.cancel(runId).catch(() => undefined);
    for (const [path, body] of [
      ["/v1/plans", harness.csv(2)],
      ["/v1/syncs", null],
    ] as const) {
      const [status, , text] = await post(path, body);
      expect(await post(path, body)).toEqual([status, "true", text]);
    }
  });
});

describe("Idempotency-Keys in Redis", () => {
  const claim = (asked: ReturnType<typeof request>) => claimKey({ redis, keys }, asked);
  let number = 0;
  const request = (): { id: string; fingerprint: string; ref: string } => ({
    id: `k-${++number}`,
    fingerprint: "f",
    ref: "r-1",
  });

  test("an Idempotency-Key is busy in every process while its first request is in progress", async () => {
    const asked = request();
    expect(await claim(asked)).toMatchObject({ ref: "r-1", isResumed: false });
    await expect(claim(asked)).rejects.toMatchObject({ code: "IDEMPOTENCY_BUSY" });
    await expect(claim({ ...asked, fingerprint: "g" })).rejects.toMatchObject({ code: "IDEMPOTENCY_REUSED" });
  });

  test("an Idempotency-Key of a dead process is continued with the first reference, a minute later", async () => {
    const asked = request();
    await claim(asked);
    const lock = keys.of("idempotency", asked.id, "lock");
    expect(await redis.pttl(lock)).toBeGreaterThan(50_000);
    await redis.del(lock); // as after that minute
    expect(await claim({ ...asked, ref: "r-2" })).toMatchObject({ ref: "r-1", isResumed: true });
    await expect(claim(asked)).rejects.toMatchObject({ code: "IDEMPOTENCY_BUSY" });
  });

  test("an Idempotency-Key is locked for a minute at most after Redis's clock was set back", async () => {
    const asked = request();
    await claim(asked);
    const lock = keys.of("idempotency", asked.id, "lock");
    await redis.pexpire(lock, 3_600_000);
    await expect(claim(asked)).rejects.toMatchObject({ code: "IDEMPOTENCY_BUSY" });
    expect(await redis.pttl(lock)).toBeLessThanOrEqual(60_000);
  });

  test("an Idempotency-Key expires after one day", async () => {
    const asked = request();
    await claim(asked);
    expect(await redis.ttl(keys.of("idempotency", asked.id))).toBeGreaterThan(86_000);
  });
});
