import { describe, expect, it } from "vitest";
import { systemClock } from "#core/time.ts";
import type { Exchange, ExchangeRequest } from "#limiter/exchange.ts";
import { PermitQueue } from "#limiter/permit-queue.ts";

const unknown = (): number => -1;

/** A gate, and each exchange that it asks for, to be answered by the test. */
function openGate(): {
  gate: PermitQueue;
  exchanges: {
    request: ExchangeRequest;
    grant: (granted: number, waitMs?: number, ahead?: number) => void;
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
        const grant = (granted: number, waitMs = 0, ahead = 0): void =>
          resolve({ nowMs: 5, window: 1, firstSerial: 1, granted, ahead, waitMs });
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
  it("permits taken ahead are returned as soon as a call meets a 429", async () => {
    const { gate, exchanges, nth } = openGate();
    const [permit] = await Promise.all([
      gate.acquire({ urgency: "normal", backlog: () => 100 }),
      nth(0).then(() => exchanges[0]?.grant(1, 0, 2)),
    ]);
    permit.answered({ throttled: true });
    expect((await nth(1)).observations).toMatchObject([{ kind: "throttled" }, { kind: "back" }, { kind: "back" }]);
    exchanges[1]?.grant(0);
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
});
