/**
 * The calls of one segment that are unsafe to repeat. A row is marked as sent, durably, right before its call leaves.
 * The mark goes when the platform answered that it did nothing; while it is there, the call is never made again, by any
 * process. If its response was lost, the SIM's record shows what it did, provided that the operation sets a field to a
 * value that the SIM did not have before. Otherwise the outcome is unknown, for good.
 */
import { randomBytes } from "node:crypto";
import type { Account } from "#api/account.ts";
import { PlatformError } from "#core/errors.ts";
import { type Clock, minuteMs, secondMs } from "#core/time.ts";
import { inputTextOf, pickFields } from "#fleet/sim/sim-fields.ts";
import { NotReplicatedError } from "#redis/replicated-writes.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Tries } from "../ledger/packing.ts";
import { type OpenRow, type TryResult, later, resultOf } from "./row-call.ts";

/** The call is not made now. */
export class NotSent extends Error {
  readonly result: TryResult;

  constructor(reason: string, cause?: "problem") {
    super(reason);
    this.result = { ...later(1_000, reason), isProblem: cause === "problem" };
  }
}

/** The row of a call, and who makes it. */
type SentRow = Pick<OpenRow, "place" | "row" | "operation" | "changes" | "before"> & { readonly account: Account };

interface UnsafeContext {
  readonly ledger: Pick<Ledger, "markSent" | "recordTries">;
  readonly clock: Clock;
  readonly runId: string;
  readonly segment: number;
  /** By place; shared with the work on the segment. */
  readonly tries: Map<number, Tries>;
  readonly signal: AbortSignal;
}

/**
 * A call that was sent this long ago has ended, by the timeouts of connection, headers and body and a margin for the
 * platform: a record without its change means that it did nothing.
 */
const settledAfterMs = 2 * minuteMs;
/** Reading the record is given up this long after the call. */
const maxReadingMs = 15 * minuteMs;
const rereadMs = 2 * secondMs;

export class UnsafeCalls {
  readonly #owner = randomBytes(6).toString("base64url");
  readonly #context: UnsafeContext;

  constructor(context: UnsafeContext) {
    this.#context = context;
  }

  wasSent(place: number): boolean {
    return this.#context.tries.get(place)?.sentAtMs !== undefined;
  }

  /** Must be awaited right before the call leaves. @throws NotSent */
  async markSent(place: number): Promise<void> {
    const { ledger, clock, runId, segment, tries } = this.#context;
    const before: Tries = tries.get(place) ?? { attempts: 0, reason: "" };
    const marked: Tries = { ...before, sentAtMs: clock.wallMs(), owner: this.#owner };
    const isMarked = await ledger.markSent(runId, segment, { place, tries: marked }).catch(async (thrown: unknown) => {
      if (!(thrown instanceof NotReplicatedError)) throw thrown;
      await ledger.recordTries(runId, segment, new Map([[place, before]]), this.#owner);
      throw new NotSent(thrown.message, "problem");
    });
    if (!isMarked) throw new NotSent("another worker has sent a row, or the run has stopped");
    tries.set(place, marked);
  }

  /** Takes the mark back: the platform has not carried out the call. */
  async unmark(place: number): Promise<void> {
    const { ledger, runId, segment, tries } = this.#context;
    const { sentAtMs: _, owner, ...others } = tries.get(place) ?? { attempts: 0, reason: "" };
    await ledger.recordTries(runId, segment, new Map([[place, others]]), owner);
    tries.set(place, others);
  }

  /** Follows up on the result of a call. */
  async after(result: TryResult, sent: SentRow): Promise<TryResult> {
    const { place } = sent;
    if (!this.wasSent(place)) return result;
    const { tries } = this.#context;
    if (result.kind === "unknown") {
      tries.set(place, { attempts: 0, ...tries.get(place), reason: result.reason });
      return this.settle(sent);
    }
    if (["postponed", "refused", "failed-try"].includes(result.kind)) await this.unmark(place);
    return result;
  }

  /** Records when to find out again what a call did, for whichever process works on the row then. */
  async readLater(place: number, delayMs: number): Promise<void> {
    const { ledger, clock, runId, segment, tries } = this.#context;
    const readAtMs = Math.ceil(clock.wallMs() + delayMs);
    const before = tries.get(place);
    const waiting: Tries = { attempts: 0, reason: "", ...before, readAtMs, owner: this.#owner };
    await ledger.recordTries(runId, segment, new Map([[place, waiting]]), before?.owner);
    tries.set(place, waiting);
  }

  /** Finds out what a call did whose response was lost. */
  async settle({ place, row, operation, changes, before, account }: SentRow): Promise<TryResult> {
    const { clock, signal, tries } = this.#context;
    // Without a reason, the process ended before a response arrived.
    const { sentAtMs = clock.wallMs(), reason = "" } = tries.get(place) ?? {};
    const sent = `sent at ${new Date(sentAtMs).toISOString()}; ${reason || "the process ended before the response arrived"}`;
    const unknown: TryResult = {
      kind: "lost",
      outcome: "unknown",
      reason: `${sent}. It is not sent again: it may have been done`,
    };
    const canTell = before !== undefined && changes.some(([, after], i) => after !== before[i]);
    if (!canTell || account.readSim === undefined) return unknown;
    let record;
    try {
      record = await account.client.call(account.readSim, { key: row.key }, { signal });
    } catch (thrown) {
      if (!(thrown instanceof PlatformError)) throw thrown;
      const result = resultOf(thrown);
      // A SIM that cannot be read, now or for a while, shows nothing. A rejection is about the read, not about the row.
      const isHopeless = result.kind === "rejected" || thrown.code === "PLATFORM_FORBIDDEN";
      if (isHopeless || clock.wallMs() > sentAtMs + maxReadingMs) return unknown;
      if (result.kind === "postponed" || result.kind === "refused") return result;
      return { kind: "waiting", delayMs: rereadMs };
    }
    const names = changes.map(([field]) => field);
    const { fields } = pickFields(record, { ...account.selection, fields: names });
    const isDone = changes.every(([field, after]) => {
      const value = fields.get(field);
      return (value === undefined ? null : inputTextOf(value)) === after;
    });
    if (isDone) return { kind: "lost", outcome: "done", reason: `${sent}; the record shows the change` };
    // An accepted change may come later than any time that could be waited for.
    if (operation.answer === "accepted") return unknown;
    const leftMs = sentAtMs + settledAfterMs - clock.wallMs();
    if (leftMs <= 0) return { kind: "lost", outcome: "failed", reason: `${sent}; the record does not show the change` };
    return { kind: "waiting", delayMs: leftMs };
  }
}
