import { describe, expect, it } from "vitest";
import { systemClock } from "#core/time.ts";
import type { Exchange, ExchangeRequest } from "#limiter/exchange.ts";
import { PermitQueue } from "#limiter/permit-queue.ts";
import type { Permit } from "#limiter/permit.ts";

const unknown = (): number => -1;

/** A gate, and each exchange that it asks for, to be answered by the test. */
function openGate(): {
  gate: PermitQueue;
  exchanges: {
    request: ExchangeRequest;
    grant: (granted: number, waitMs?: number) => void;
    fail: (why: Error) => void;
  }[];
  nth: (n: number) => Promise<ExchangeRequest>;
} {
  const exchanges: ReturnType<typeof openGate>["exchanges"] = [];
  const arrived: (() => void)[] = [];
  const gate = new PermitQueue({
    bucket: "b",
    clock: systemClock,
    exchange: (request) =>
      new Promise<Exchange>((resolve, reject) => {
        const grant = (granted: number, waitMs = 0): void =>
          resolve({ nowMs: 5, window: 1, firstSerial: 1, granted, waitMs });
        exchanges.push({ request, grant, fail: reject });
        for (const wake of arrived.splice(0)) wake();
      }),
  });
  const nth = async (n: number): Promise<ExchangeRequest> => {
    while (exchanges[n] === undefined) await new Promise<void>((resolve) => arrived.push(resolve));
    return exchanges[n].request;
  };
  return { gate, exchanges, nth };
}

describe("the limiter gate", () => {
  it("the gate asks once for all callers of one turn and serves urgent ones first", async () => {
    const { gate, exchanges, nth } = openGate();
    const normal = [1, 2].map(() => gate.acquire({ urgency: "normal", backlog: () => 7 }));
    const urgent = gate.acquire({ urgency: "priority", backlog: unknown });
    expect(await nth(0)).toMatchObject({ want: 1, urgency: "priority", backlog: -1, firstPermitNumber: 1 });
    exchanges[0]?.grant(1);
    expect(await nth(1)).toMatchObject({ want: 2, urgency: "normal", backlog: 7, firstPermitNumber: 2 });
    exchanges[1]?.grant(2);
    expect(await Promise.all([...normal, urgent])).toHaveLength(3);
  });

  it("the gate returns the permit of a caller that left while Redis was asked", async () => {
    const { gate, exchanges, nth } = openGate();
    const leaving = new AbortController();
    const gone = gate.acquire({ urgency: "normal", backlog: unknown, signal: leaving.signal });
    await nth(0);
    leaving.abort(new Error("stopped"));
    exchanges[0]?.grant(1);
    await expect(gone).rejects.toThrow("stopped");
    expect((await nth(1)).observations).toMatchObject([{ permitNumber: 1, kind: "back" }]);
    exchanges[1]?.grant(0);
  });

  it("the gate refuses a wait of more than two seconds and reports its length", async () => {
    const { gate, exchanges, nth } = openGate();
    const refused = gate.acquire({ urgency: "normal", backlog: unknown });
    await nth(0);
    exchanges[0]?.grant(0, 12_345.6);
    await expect(refused).rejects.toMatchObject({ code: "PLATFORM_THROTTLED", bucket: "b", retryAfterMs: 12_346 });
    expect(gate.waiting).toBe(0);
  });

  it("the gate repeats the observations of a failed exchange with the next request", async () => {
    const { gate, exchanges, nth } = openGate();
    const first: Promise<Permit> = gate.acquire({ urgency: "normal", backlog: unknown });
    await nth(0);
    exchanges[0]?.grant(1);
    (await first).lost();
    expect((await nth(1)).observations).toMatchObject([{ permitNumber: 1, kind: "lost" }]);
    exchanges[1]?.fail(new Error("OOM command not allowed"));
    await new Promise(setImmediate); // whoever came before it was known is refused as well
    const next = gate.acquire({ urgency: "normal", backlog: unknown });
    expect(await nth(2)).toMatchObject({ want: 1, observations: [{ permitNumber: 1, kind: "lost" }] });
    exchanges[2]?.fail(new Error("OOM command not allowed"));
    await expect(next).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: "The bucket b cannot be used: OOM command not allowed",
    });
    expect(exchanges).toHaveLength(3);
  });
});
