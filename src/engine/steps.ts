/**
 * Runs durable work step by step: reads the record, runs the step of its state, saves the result, and continues until
 * the work ends or waits. A step starts from the record alone, so it does not matter which process runs it, or how the
 * previous one ended.
 */
import { PlatformError, messageOf } from "#core/errors.ts";
import { scrubSecrets } from "#core/secrets/scrub-secrets.ts";
import type { Clock } from "#core/time.ts";
import { type FaultRules, delayAfter, ruleFor } from "./fault-policy.ts";
import type { MoveEvent } from "./move-record.ts";
import { type PoisonGuard, quarantined, quarantineReason } from "./poison-guard.ts";
import type { WorkResult } from "./queue/job-result.ts";

/** Continue later, and save what the work waits for. */
export interface Wait<Change> {
  readonly delayMs: number;
  readonly reason: string;
  /** The work fails, and is shown with a problem. */
  readonly isProblem?: boolean;
  /** Failed attempts of the step, if their number changes. */
  readonly tries?: number;
  readonly change?: Change;
  readonly events?: readonly MoveEvent[];
  /** The platform rejected our credentials or permissions. */
  readonly refusal?: PlatformError | undefined;
}

export type StepResult<Change> =
  /** Read the record again and continue. */
  | { readonly kind: "again" }
  /** Save the change, emit the events, and continue. */
  | { readonly kind: "move"; readonly change: Change; readonly events: readonly MoveEvent[] }
  | ({ readonly kind: "wait" } & Wait<Change>)
  /** The work cannot be completed. */
  | { readonly kind: "give-up"; readonly reason: string };

export const again = { kind: "again" } as const;

export function move<Change>(change: Change, ...events: readonly MoveEvent[]): StepResult<Change> {
  return { kind: "move", change, events };
}

export function wait<Change>(options: Wait<Change>): StepResult<Change> {
  return { kind: "wait", ...options };
}

export function giveUp(reason: string): StepResult<never> {
  return { kind: "give-up", reason };
}

/** Another process has changed the record: this one reads it again. */
export class MovedByAnother extends Error {}

type Step<Context, Change> = (context: Context) => Promise<StepResult<Change>> | StepResult<Change>;

/** The step of each state that is not final. */
export type Steps<State extends string, Context, Change> = Readonly<Record<State, Step<Context, Change>>>;

/** One piece of work of a feature. `Context` is what its steps receive: the record, and what they need. */
export interface StepMachine<Context, Change> {
  /** Reads the record; undefined if there is nothing to do. */
  readonly open: () => Promise<Context | undefined>;
  readonly stateOf: (context: Context) => string;
  /** By state; a state without a step is final. */
  readonly steps: Readonly<Record<string, Step<Context, Change>>>;
  /** @throws MovedByAnother; the same holds for `saveWait` and `saveGivingUp` */
  readonly save: (context: Context, change: Change, events: readonly MoveEvent[]) => Promise<void>;
  readonly saveWait: (context: Context, wait: Wait<Change>) => Promise<void>;
  readonly saveGivingUp: (context: Context, reason: string) => Promise<void>;
  /** Finds a step that kills its worker. */
  readonly guard: Pick<PoisonGuard, "run">;
  /** Name of the work and its step, for the poison guard. Undefined if nothing happens there. */
  readonly pointOf: (context: Context) => string | undefined;
  /** Called after three deaths: the work must not be continued until a user releases it. */
  readonly saveQuarantined: (context: Context, reason: string) => Promise<void>;
  /** The rules after a fault, and the failed attempts of the step so far. */
  readonly faultRules: (context: Context, fault: unknown) => { rules: FaultRules; tries: number };
  /** Called with faults after which the work waits. */
  readonly onFault?: (message: string, refusal: PlatformError | undefined) => void;
  /** Called when a step has ended, to forget secrets. */
  readonly close?: (context: Context) => void;
  readonly clock: Clock;
}

/**
 * Continues a piece of work until it ends or waits.
 * @param signal aborts when this process stops or has lost the job
 * @throws errors without a rule, such as those of the store; the queue then retries the job
 */
export async function runSteps<Context, Change>(
  machine: StepMachine<Context, Change>,
  signal: AbortSignal,
): Promise<WorkResult> {
  for (;;) {
    const context = await machine.open();
    const step = context && machine.steps[machine.stateOf(context)];
    if (context === undefined || step === undefined) return { kind: "ended" };
    if (signal.aborted) return { kind: "handed-back" };
    const runAndSave = async (): Promise<WorkResult | undefined> =>
      save(await runStep(step, context, { machine, signal }), context, machine);
    try {
      const point = machine.pointOf(context);
      const end = await (point === undefined ? runAndSave() : machine.guard.run(point, runAndSave));
      if (end === quarantined) {
        await machine.saveQuarantined(context, quarantineReason);
        return { kind: "ended" };
      }
      if (end !== undefined) return end;
    } catch (thrown) {
      if (signal.aborted) return { kind: "handed-back" };
      if (!(thrown instanceof MovedByAnother)) throw thrown;
    } finally {
      machine.close?.(context);
    }
  }
}

/** The result of a step, or of its fault. */
async function runStep<Context, Change>(
  step: Step<Context, Change>,
  context: Context,
  { machine, signal }: { machine: StepMachine<Context, Change>; signal: AbortSignal },
): Promise<StepResult<Change>> {
  try {
    return await step(context);
  } catch (fault) {
    if (signal.aborted || fault instanceof MovedByAnother) throw fault;
    const { rules, tries } = machine.faultRules(context, fault);
    const rule = ruleFor(fault, rules);
    const reason = messageOf(fault);
    const failed = tries + 1;
    if (rule === "give-up" || failed >= (rule.maxTries ?? Number.POSITIVE_INFINITY)) return giveUp(reason);
    const delayMs = delayAfter(fault, failed, rule);
    if (delayMs <= (rule.sleepUpToMs ?? 0)) {
      await machine.clock.sleep(delayMs, signal);
      return again;
    }
    // The platform rejected our credentials or permissions.
    const refusal = fault instanceof PlatformError && fault.exitCode === 3 ? fault : undefined;
    machine.onFault?.(reason, refusal);
    const isProblem = rule.isNoProblem !== true;
    return wait({ delayMs, reason, isProblem, tries: rule.countsTry === true ? failed : tries, refusal });
  }
}

/** @returns undefined if the work continues now */
async function save<Context, Change>(
  result: StepResult<Change>,
  context: Context,
  machine: StepMachine<Context, Change>,
): Promise<WorkResult | undefined> {
  if (result.kind === "move") await machine.save(context, result.change, result.events);
  if (result.kind === "give-up") await machine.saveGivingUp(context, scrubSecrets(result.reason));
  if (result.kind !== "wait") return undefined;
  const { delayMs, refusal } = result;
  const reason = scrubSecrets(result.reason);
  await machine.saveWait(context, { ...result, reason });
  return { kind: "postponed", delayMs, scope: "job", reason, ...(refusal === undefined ? {} : { refusal }) };
}
