/**
 * The calls of one segment that are unsafe to repeat. A row is marked as sent, durably, right before its call leaves. The mark
 * goes when the platform answered that it did nothing; while it is there, the call is never made again, by any process.
 */
import { randomBytes } from "node:crypto";
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
    this.result = { kind: "postponed", delayMs: 1_000, scope: "job", wasRateLimited: false, isProblem, reason };
  }
}

export class UnsafeCalls {
  readonly #owner = randomBytes(6).toString("base64url");
  readonly #deps: {
    readonly ledger: Pick<Ledger, "markSent" | "recordTries">;
    readonly clock: Clock;
    readonly runId: string;
    readonly segment: number;
    /** By place; shared with the work on the segment. */
    readonly tries: Map<number, Tries>;
    readonly signal: AbortSignal;
  };

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
    const { ledger, clock, runId, segment, tries } = this.#deps;
    const before: Tries = tries.get(place) ?? { attempts: 0, reason: "" };
    const marked: Tries = { ...before, sentAtMs: clock.wallMs(), owner: this.#owner };
    const isMarked = await ledger.markSent(runId, segment, { place, tries: marked }).catch(async (thrown: unknown) => {
      if (!(thrown instanceof NotReplicatedError)) throw thrown;
      await ledger.recordTries(runId, segment, new Map([[place, before]]), this.#owner);
      throw new NotSent(thrown.message, { isProblem: true });
    });
    if (!isMarked) throw new NotSent("another worker has sent a row, or the run has stopped", { isProblem: false });
    tries.set(place, marked);
  }

  /** Takes the mark back: the platform has not carried out the call. */
  async unmark(place: number): Promise<void> {
    const { ledger, runId, segment, tries } = this.#deps;
    const { sentAtMs: _, owner, ...others } = tries.get(place) ?? { attempts: 0, reason: "" };
    await ledger.recordTries(runId, segment, new Map([[place, others]]), owner);
    tries.set(place, others);
  }

  /** Follows up on the result of a call. */
  async after(place: number, result: TryResult, row: LostRow): Promise<TryResult> {
    if (!this.wasSent(place)) return result;
    const { tries } = this.#deps;
    switch (result.kind) {
      case "unknown":
        tries.set(place, { attempts: 0, ...tries.get(place), reason: result.reason });
        return this.settle(place, row);
      case "postponed":
      case "refused":
      case "failed-try":
        await this.unmark(place);
        return result;
      default:
        return result;
    }
  }

  /** Records when to find out again what a call did, for whichever process works on the row then. */
  async readLater(place: number, delayMs: number): Promise<void> {
    const { ledger, clock, runId, segment, tries } = this.#deps;
    const readAtMs = Math.ceil(clock.wallMs() + delayMs);
    const before = tries.get(place);
    const waiting: Tries = { attempts: 0, reason: "", ...before, readAtMs, owner: this.#owner };
    await ledger.recordTries(runId, segment, new Map([[place, waiting]]), before?.owner);
    tries.set(place, waiting);
  }

  /** Finds out what a call did whose response was lost. */
  settle(place: number, row: LostRow): Promise<TryResult> {
    const { clock, signal, tries } = this.#deps;
    const { sentAtMs = clock.wallMs(), reason = "" } = tries.get(place) ?? {};
    return settleLostCall({ sentAtMs, reason }, { ...row, clock, signal });
  }
}
