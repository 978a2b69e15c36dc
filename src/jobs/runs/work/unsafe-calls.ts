/**
 * The calls of one segment that must not be repeated. A row is marked as sent, durably, right before its call leaves. The mark
 * goes when the platform answered that it did nothing; while it is there, the call is never made again, by any process.
 */
import type { Clock } from "#core/time.ts";
import { NotReplicatedError } from "#redis/replicated-writes.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Tries } from "../ledger/packing.ts";
import { type LostRow, settleLostCall } from "./lost-call.ts";
import type { TryResult } from "./row-attempt.ts";

/** The call is not made now. */
export class NotSent extends Error {
  readonly result: TryResult;

  constructor(reason: string, { isProblem }: { isProblem: boolean }) {
    super(reason);
    this.result = { kind: "postponed", delayMs: 1_000, scope: "job", wasThrottled: false, isProblem, reason };
  }
}

export class UnsafeCalls {
  readonly #deps: {
    readonly ledger: Pick<Ledger, "markSent" | "recordTries">;
    readonly clock: Clock;
    readonly runId: string;
    readonly segment: number;
    /** By place; shared with the work on the segment. */
    readonly tries: Map<number, Tries>;
    readonly signal: AbortSignal;
  };
  /** Marked by this process. */
  readonly #marked = new Set<number>();

  constructor(deps: {
    ledger: Pick<Ledger, "markSent" | "recordTries">;
    clock: Clock;
    runId: string;
    segment: number;
    tries: Map<number, Tries>;
    signal: AbortSignal;
  }) {
    this.#deps = deps;
  }

  wasSent(place: number): boolean {
    return this.#deps.tries.get(place)?.sentAtMs !== undefined;
  }

  /** Must be awaited right before the call leaves. @throws NotSent */
  async markSent(place: number): Promise<void> {
    if (this.#marked.has(place)) return; // the call is repeated after a 401, which did nothing
    const { ledger, clock, runId, segment, tries } = this.#deps;
    const before: Tries = tries.get(place) ?? { attempts: 0, reason: "" };
    const marked: Tries = { ...before, sentAtMs: clock.wallMs() };
    const isMarked = await ledger.markSent(runId, segment, { place, tries: marked }).catch(async (thrown: unknown) => {
      if (!(thrown instanceof NotReplicatedError)) throw thrown;
      await ledger.recordTries(runId, segment, new Map([[place, before]]));
      throw new NotSent("no replica of Redis has acknowledged that a row is sent", { isProblem: true });
    });
    // By another process, or before this one read the row.
    if (!isMarked) throw new NotSent("another worker has sent a row", { isProblem: false });
    tries.set(place, marked);
    this.#marked.add(place);
  }

  /** Follows up on the result of a call. */
  async after(place: number, result: TryResult, row: LostRow): Promise<TryResult> {
    if (!this.wasSent(place)) return result;
    const { ledger, runId, segment, tries } = this.#deps;
    const { sentAtMs, ...others } = tries.get(place) ?? { attempts: 0, reason: "" };
    switch (result.kind) {
      case "unknown":
        tries.set(place, { ...others, reason: result.reason, ...(sentAtMs === undefined ? {} : { sentAtMs }) });
        return this.settle(place, row);
      case "postponed":
      case "refused":
      case "failed-try":
        await ledger.recordTries(runId, segment, new Map([[place, others]]));
        tries.set(place, others);
        this.#marked.delete(place);
        return result;
      default:
        return result;
    }
  }

  /** Finds out what a call did whose response was lost. */
  settle(place: number, row: LostRow): Promise<TryResult> {
    const { clock, signal, tries } = this.#deps;
    const { sentAtMs = clock.wallMs(), reason = "" } = tries.get(place) ?? {};
    return settleLostCall({ sentAtMs, reason }, { ...row, clock, signal });
  }
}
