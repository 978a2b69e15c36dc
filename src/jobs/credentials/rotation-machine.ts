/**
 * What rotations of Credential Sets and of AuthKeys share: the fields of their records, and how each step starts and ends. A
 * rotation continues from its record only, so it does not matter which process does it, or how the previous one ended.
 * The sealed secret is removed with the last move, not before.
 */
import { randomInt } from "node:crypto";
import type { Secret } from "#core/secret.ts";
import type { Clock } from "#core/time.ts";
import type { FaultRules } from "#engine/fault-policy.ts";
import type { MoveEvent } from "#engine/move-record.ts";
import type { PoisonGuard } from "#engine/poison-guard.ts";
import { nextProblem, quarantineProblem } from "#engine/problem.ts";
import type { WorkResult } from "#engine/queue/job-result.ts";
import type { Change, CommonFields, MoveOptions, RecordStore } from "#engine/record.ts";
import type { Seal, SealedFields } from "#engine/seal.ts";
import { MovedByAnother, type StepMachine, type StepResult, type Wait, move, runSteps } from "#engine/steps.ts";
import type { Sink } from "./config.ts";
import { sinkKey, sinkName } from "./sinks.ts";

/** Reasons for which a rotation waits. */
export const rotationWaits = [
  /** The grace period, in which the old set must be unused. */
  "grace",
  /** A manual confirmation that nothing refers to the old set anymore. */
  "confirmation",
  /** Something still refers to the old set, and simfleet cannot change it. */
  "reference",
  /** A failure that may be temporary. */
  "fault",
  /** A user, because the current step killed three workers. */
  "quarantined",
] as const;

export interface RotationFields extends CommonFields {
  readonly rotationId: string;
  readonly state: string;
  readonly startedAtMs: number;
  readonly finishedAtMs?: number;
  /** Time of the next poll. */
  readonly nextAtMs: number;
  readonly waitsFor?: (typeof rotationWaits)[number];
  /** Reason why it waits or failed, for display. */
  readonly reason?: string;
  /** Why it is rolled back. */
  readonly failure?: string;
  /** Failed attempts of the current step. */
  readonly tries: number;
  /** The new secret, encrypted with the rotation's id as purpose; kept until the rotation ends. */
  readonly sealed?: string;
  /** Keys of the sinks that have received the new secret. */
  readonly handedTo: readonly string[];
  /** Names of these sinks, for display. */
  readonly handedToNames: readonly string[];
  /** Time since which the old secret must be unused, ms since the epoch. */
  readonly quietSinceMs?: number;
}

type SharedChange = Change<Omit<RotationFields, "state">>;

/** How the records of rotations are stored. */
export const rotationKind = {
  idField: "rotationId",
  stateField: "state",
  numbers: ["tries"],
  entering: { waitsFor: undefined, reason: undefined, problem: undefined, nextAtMs: 0, tries: 0 },
  isOver: isRotationOver,
} as const;

export function isRotationOver({ state }: Pick<RotationFields, "state">): boolean {
  return state === "done" || state === "failed";
}

/** Id of a rotation, `t-20261120-103045-482193`: sorts by time. */
export function newRotationId(kind: "t" | "k", nowMs: number): string {
  const stamp = new Date(nowMs).toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
  return `${kind}-${stamp}-${String(randomInt(1_000_000)).padStart(6, "0")}`;
}

/** Continues a rotation that was quarantined. @returns undefined if it was not */
export function releaseRotation<R extends RotationFields>(
  store: RecordStore<R>,
  of: { readonly name: string; readonly profile: string },
): Promise<R | undefined> {
  const change: SharedChange = rotationKind.entering;
  return store.update(of, (present) =>
    present?.waitsFor === "quarantined" ? { change: change as Change<R> } : undefined,
  );
}

/** Dependencies of every rotation's steps. */
interface StepDeps<R extends RotationFields> {
  readonly seal: Pick<Seal, "open">;
  readonly move: (of: R, change: Change<R>, options: MoveOptions) => Promise<R | string>;
}

/** The record as it was saved last. A step saves what it has done before it continues. */
export class RotationStep<R extends RotationFields> {
  record: R;
  readonly signal: AbortSignal;
  readonly #deps: StepDeps<R>;
  readonly #held: Secret[] = [];
  #opened: SealedFields | undefined;

  constructor(record: R, deps: StepDeps<R>, signal: AbortSignal) {
    this.record = record;
    this.signal = signal;
    this.#deps = deps;
  }

  /** Saves what the step has done so far. @throws MovedByAnother */
  async save(change: Change<R> | SharedChange, events: readonly MoveEvent[] = []): Promise<void> {
    const saved = await this.#deps.move(this.record, change as Change<R>, { events });
    if (typeof saved === "string") throw new MovedByAnother();
    this.record = saved;
  }

  /** The new secret, decrypted once. @throws SimfleetError SEAL_DECRYPTION_FAILED */
  async secrets(): Promise<SealedFields> {
    const { rotationId, sealed } = this.record;
    if (sealed === undefined) throw new Error(`the sealed secret of ${rotationId} vanished`);
    if (this.#opened === undefined) {
      this.#opened = await this.#deps.seal.open(rotationId, sealed);
      this.hold(...Object.values(this.#opened));
    }
    return this.#opened;
  }

  /**
   * Keeps secrets registered for redaction until the step ends, because errors in between may contain them as echoed by the
   * platform or a sink, and are stored in the record and reported.
   */
  hold(...secrets: readonly Secret[]): void {
    this.#held.push(...secrets);
  }

  /** Must be called when the step ends. */
  release(): void {
    for (const secret of this.#held.splice(0)) secret.forget();
  }
}

/** One kind of rotation. */
export interface RotationMachine<R extends RotationFields, Step extends RotationStep<R>> {
  /** Reads the record; undefined if there is none. */
  readonly open: () => Promise<Step | undefined>;
  readonly steps: StepMachine<Step, Change<R>>["steps"];
  readonly rulesFor: (record: R, fault: unknown) => FaultRules;
  /** Ends the rotation, or starts to roll it back. */
  readonly giveUp: (record: R, reason: string) => readonly [Change<R>, ...MoveEvent[]];
  readonly quarantined: (record: R, reason: string) => MoveEvent;
  /** The command that continues it, also after it was quarantined. */
  readonly resumeCommand: string;
  /** Name of the rotation, for the guard. */
  readonly subject: string;
  readonly guard: Pick<PoisonGuard, "run">;
  readonly clock: Clock;
  readonly nowMs: () => number | Promise<number>;
  /** Called with faults after which the rotation waits. */
  readonly onFault?: StepMachine<Step, Change<R>>["onFault"];
}

/**
 * Continues a rotation until it ends or waits.
 * @param signal aborts when this process stops or has lost the job
 * @throws errors of the store; the queue then retries the job
 */
export function runRotation<R extends RotationFields, Step extends RotationStep<R>>(
  machine: RotationMachine<R, Step>,
  signal: AbortSignal,
): Promise<WorkResult> {
  const { nowMs, resumeCommand, subject, onFault, ...kind } = machine;
  return runSteps<Step, Change<R>>(
    {
      ...kind,
      ...(onFault !== undefined && { onFault }),
      open: async () => {
        const step = await kind.open();
        return step?.record.waitsFor === "quarantined" ? undefined : step;
      },
      stateOf: ({ record }) => record.state,
      save: (step, change, events) => step.save(change, events),
      saveWait: async (step, waiting) => saveWait(step, waiting, await nowMs()),
      saveGivingUp: (step, reason) => {
        const [change, ...events] = kind.giveUp(step.record, reason);
        return step.save(change, events);
      },
      pointOf: ({ record: { rotationId, state } }) => `${subject} ${rotationId} ${state}`,
      // The rotation stays where it is until a user continues it.
      saveQuarantined: async (step, why) => {
        const reason = `${why}; continue with: ${resumeCommand}`;
        const problem = quarantineProblem(step.record.problem, { message: reason, nowMs: await nowMs() });
        await step.save({ waitsFor: "quarantined", reason, problem }, [kind.quarantined(step.record, why)]);
      },
      faultRules: ({ record }, fault) => ({ rules: kind.rulesFor(record, fault), tries: record.tries }),
      close: (step) => step.release(),
    },
    signal,
  );
}

/** Events are emitted unless the rotation already waited for the same. */
function saveWait<R extends RotationFields>(step: RotationStep<R>, waiting: Wait<Change<R>>, nowMs: number) {
  const { record } = step;
  const { delayMs, reason, isProblem = false, tries = record.tries, events = [] } = waiting;
  const change = {
    waitsFor: isProblem ? "fault" : undefined,
    reason,
    tries,
    nextAtMs: nowMs + Math.max(1, Math.ceil(delayMs)),
    problem: isProblem ? nextProblem(record.problem, { message: reason, nowMs, delayMs }) : undefined,
    ...waiting.change,
  };
  const isKnown = record.waitsFor === change.waitsFor && record.reason === reason;
  return step.save(change as Change<R>, isKnown ? [] : events);
}

/**
 * The step that delivers the new secret, sink by sink. Each success is saved before the next sink is called.
 * @param deliver throws SimfleetError SINK_FAILED, or the signal's reason
 */
export async function handOverToAll<R extends RotationFields>(
  step: RotationStep<R>,
  sinks: readonly Sink[],
  deliver: (sink: Sink) => Promise<void>,
  eventOf: (sink: string) => MoveEvent,
): Promise<StepResult<{ readonly state: "delivered" }>> {
  for (const sink of sinks) {
    const { handedTo, handedToNames } = step.record;
    if (handedTo.includes(sinkKey(sink))) continue;
    await deliver(sink);
    const handed = { handedTo: [...handedTo, sinkKey(sink)], handedToNames: [...handedToNames, sinkName(sink)] };
    await step.save({ ...rotationKind.entering, ...handed }, [eventOf(sinkName(sink))]);
  }
  return move({ state: "delivered" });
}
