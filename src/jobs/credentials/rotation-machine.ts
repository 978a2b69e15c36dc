/**
 * What rotations of Credential Sets and of AuthKeys share: the fields of their records, and how each step starts and
 * ends. A rotation continues from its record only, so it does not matter which process does it, or how the previous one
 * ended. The sealed secret is removed with the last move, not before.
 */
import type { Secret } from "#core/secrets/secret.ts";
import type { FaultRules } from "#engine/fault-policy.ts";
import type { MoveEvent, StoreDeps } from "#engine/move-record.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { nextProblem } from "#engine/problem.ts";
import type { WorkResult } from "#engine/queue/job-result.ts";
import { type Change, type CommonFields, type MoveOptions, type RecordKind, recordStore } from "#engine/record.ts";
import type { Seal, SealedFields } from "#engine/seal.ts";
import { MovedByAnother, type StepMachine, type StepResult, type Wait, move, runSteps } from "#engine/steps.ts";
import type { Sink } from "./config.ts";
import type { RotationReport } from "./contract.ts";
import { type Handover, sinkKey, sinkName } from "./sinks.ts";

export interface RotationFields extends CommonFields {
  readonly name: string;
  readonly rotationId: string;
  readonly state: string;
  readonly startedAtMs: number;
  readonly finishedAtMs?: number;
  /** Time of the next poll. */
  readonly nextAtMs: number;
  /**
   * What it waits for, if not for time alone: the `grace` period of the old set; a `confirmation` by a user that
   * nothing refers to the old set anymore; a `reference` to it that simfleet cannot change; after a `fault`, the next
   * attempt; a user, because the current step killed three workers (`quarantined`).
   */
  readonly waitsFor?: NonNullable<RotationReport["waitsFor"]>;
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

/** Default changes of every move to another state. */
export const entering = { waitsFor: undefined, reason: undefined, problem: undefined, nextAtMs: 0, tries: 0 } as const;

export function isRotationOver({ state }: Pick<RotationFields, "state">): boolean {
  return state === "done" || state === "failed";
}

/** Whether a rotation is in progress and does not wait for a user because it was quarantined. */
export function isToBeDone<R extends RotationFields>(record: R | undefined): record is R {
  return record !== undefined && !isRotationOver(record) && record.waitsFor !== "quarantined";
}

/** The store of one kind of rotation. @param kind what its records have beyond the fields of every rotation */
export function rotationStore<R extends RotationFields>(
  { json = [], defaults, ...kind }: Pick<RecordKind<R>, "json" | "defaults" | "kept" | "subject">,
  deps: StoreDeps,
  keyOf: (name: string) => string,
) {
  const empty = { nextAtMs: 0, tries: 0, handedTo: [], handedToNames: [] };
  const all: RecordKind<R> = {
    ...kind,
    idField: "rotationId",
    stateField: "state",
    numbers: ["tries"],
    json: ["handedTo", "handedToNames", ...json],
    defaults: (name) => ({ name, ...empty, ...defaults?.(name) }) as Partial<R>,
    entering: entering as Change<R>,
    isOver: isRotationOver,
  };
  const { get: record, ...store } = recordStore(all, deps, keyOf);
  return {
    ...store,
    /** The rotation with this name that is in progress, or the last one; undefined if there never was one. */
    record,

    /**
     * Makes a move from the record as it was read, and emits its events in the same script.
     * @returns the new record; `stale` if another process has moved the rotation on
     */
    move: (of: R, change: Change<R>, options?: MoveOptions) => store.move(of.name, of, change, options),

    /** Continues a rotation that was quarantined. @returns undefined if it was not */
    release: (of: Pick<RotationFields, "name" | "profile">) =>
      store.update(of, (present) => (present?.waitsFor === "quarantined" ? { change: all.entering } : undefined)),
  };
}

export interface RotationDeps<R extends RotationFields> extends Pick<Kernel, "clock" | "guard"> {
  readonly seal: Pick<Seal, "seal" | "open">;
  readonly log: { readonly move: (of: R, change: Change<R>, options: MoveOptions) => Promise<R | string> };
  /** @throws SinkError; the signal's reason */
  readonly handOver: (sink: Sink, handover: Handover, signal: AbortSignal) => Promise<void>;
}

/** The record as it was saved last. A step saves what it has done before it continues. */
export class RotationStep<R extends RotationFields, Deps extends RotationDeps<R> = RotationDeps<R>> {
  record: R;
  readonly deps: Deps;
  readonly signal: AbortSignal;
  readonly #held: Secret[] = [];
  #opened: SealedFields | undefined;

  constructor(record: R, deps: Deps, signal: AbortSignal) {
    this.record = record;
    this.deps = deps;
    this.signal = signal;
  }

  /** Saves what the step has done so far. @throws MovedByAnother */
  async save(change: Change<R> | Change<Omit<RotationFields, "state">>, events: readonly MoveEvent[] = []) {
    const saved = await this.deps.log.move(this.record, change as Change<R>, { events });
    if (typeof saved === "string") throw new MovedByAnother();
    this.record = saved;
  }

  /** The new secret, decrypted once. @throws SimfleetError SEAL_DECRYPTION_FAILED */
  async secrets(): Promise<SealedFields> {
    const { rotationId, sealed } = this.record;
    if (sealed === undefined) throw new Error(`the sealed secret of ${rotationId} vanished`);
    if (this.#opened === undefined) {
      this.#opened = await this.deps.seal.open(rotationId, sealed);
      this.hold(...Object.values(this.#opened));
    }
    return this.#opened;
  }

  /**
   * Keeps secrets registered for redaction until the step ends, because errors in between may contain them as echoed by
   * the platform or a sink, and are stored in the record and reported.
   */
  hold(...secrets: readonly Secret[]): void {
    this.#held.push(...secrets);
  }

  /** Must be called when the step ends. */
  release(): void {
    for (const secret of this.#held.splice(0)) secret.forget();
  }
}

interface RotationMachine<R extends RotationFields, Step extends RotationStep<R>> extends Pick<
  StepMachine<Step, Change<R>>,
  "open" | "steps" | "guard" | "clock" | "onFault"
> {
  readonly rulesFor: (record: R, fault: unknown) => FaultRules;
  /** Ends the rotation, or starts to roll it back. */
  readonly giveUp: (record: R, reason: string) => readonly [Change<R>, ...MoveEvent[]];
  readonly quarantined: (record: R, reason: string) => MoveEvent;
  /** The command that continues it, also after it was quarantined. */
  readonly resumeCommand: (record: R) => string;
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
  const { clock } = machine;
  return runSteps<Step, Change<R>>(
    {
      ...machine,
      open: async () => {
        const step = await machine.open();
        return isToBeDone(step?.record) ? step : undefined;
      },
      stateOf: ({ record }) => record.state,
      save: (step, change, events) => step.save(change, events),
      saveWait: (step, waiting) => saveWait(step, waiting, clock.wallMs()),
      saveGivingUp: (step, reason) => {
        const [change, ...events] = machine.giveUp(step.record, reason);
        return step.save(change, events);
      },
      pointOf: ({ record: { name, rotationId, state } }) => `rotation ${name} ${rotationId} ${state}`,
      // The rotation stays where it is until a user continues it.
      saveQuarantined: async (step, why) => {
        const reason = `${why}; continue with: ${machine.resumeCommand(step.record)}`;
        const failure = { message: reason, nowMs: clock.wallMs(), delayMs: 0 };
        const problem = { ...nextProblem(step.record.problem, failure), nextAttemptMs: 0 };
        await step.save({ waitsFor: "quarantined", reason, problem }, [machine.quarantined(step.record, why)]);
      },
      faultRules: ({ record }, fault) => ({ rules: machine.rulesFor(record, fault), tries: record.tries }),
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

/** The step that delivers the new secret, sink by sink. Each success is saved before the next sink is called. */
export async function handOverToAll<R extends RotationFields>(
  step: RotationStep<R>,
  sinks: readonly Sink[],
  handover: Omit<Handover, "rotationId" | "startedAtMs">,
  { type, fields }: MoveEvent,
): Promise<StepResult<{ readonly state: "delivered" }>> {
  for (const sink of sinks) {
    const { handedTo, handedToNames, rotationId, startedAtMs } = step.record;
    if (handedTo.includes(sinkKey(sink))) continue;
    await step.deps.handOver(sink, { ...handover, rotationId, startedAtMs }, step.signal);
    const handed = { handedTo: [...handedTo, sinkKey(sink)], handedToNames: [...handedToNames, sinkName(sink)] };
    await step.save({ ...entering, ...handed }, [{ type, fields: { ...fields, sink: sinkName(sink) } }]);
  }
  return move({ state: "delivered" });
}
