/** The work on single calls that must not be repeated: when a row counts as sent, and how a lost answer is followed up. */
import { expect, it } from "vitest";
import type { PlatformClientOptions } from "#api/client-options.ts";
import { openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { answer, type Handler, OpenPermits } from "../../unit/api/support.ts";
import { submit } from "./run-of.ts";
import { sendSms } from "./unsafe-operations.ts";
import { UnsafeWork } from "./unsafe-work.ts";

const work = new UnsafeWork(openTestRedis());
const { ledger } = work;

/** Grants a number of permits; a later caller waits until it is stopped. */
class FewPermits extends OpenPermits {
  left: number;
  waiting = 0;

  constructor(left: number) {
    super();
    this.left = left;
  }

  override acquire(request: Parameters<PlatformClientOptions["permits"]["acquire"]>[0]) {
    if (request.bucket !== "default.Sim" || this.left-- > 0) return super.acquire(request);
    this.waiting += 1;
    const { promise, reject } = Promise.withResolvers<never>();
    const { signal } = request;
    signal?.addEventListener("abort", () => reject(signal.reason as Error));
    return promise;
  }
}

it("a row stays pending when its run is stopped between a 401 and the repetition, and is sent afterwards", async () => {
  const { runId } = await submit(ledger, [[1]], { operations: [sendSms] });
  const permits = new FewPermits(1);
  const stop = new AbortController();
  const refuse: Handler = (_, response) => answer(response, 401, "");
  const working = work.execute(runId, refuse, { permits, signal: stop.signal });
  await until("the repetition waits for the quota", () => permits.waiting === 1);
  stop.abort(new Error("stopped"));
  expect((await working).result).toEqual({ kind: "handed-back" });
  expect((await work.triesOf(runId)).get(0)?.sentAtMs).toBeUndefined();
  expect(await work.rows(runId)).toMatchObject([{ outcome: "pending" }]);

  const { result, calls } = await work.execute(runId, (_, response) => answer(response, 202, ""));
  expect(result).toMatchObject({ kind: "finished" });
  expect(calls.map(({ path }) => path)).toEqual([expect.stringMatching(/send_sms$/)]);
  expect(await work.rows(runId)).toMatchObject([{ outcome: "done" }]);
});
