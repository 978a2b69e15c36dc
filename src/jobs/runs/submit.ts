/**
 * What decides whether planned rows become a run, and in which state. Every run is started through here: from a plan
 * that was kept, from rows that come with the request, as a retry, or as an undo.
 */
import { hash, randomUUID } from "node:crypto";
import { stampOf } from "#core/time.ts";
import { IntakeError, SimfleetError } from "#core/errors.ts";
import type { RunState } from "#fleet/run.ts";
import { withoutContent } from "#intake/columns.ts";
import type { Kernel } from "#kernel/kernel.ts";
import type { PlanReport } from "./contract.ts";
import type { DraftHead } from "./plan/draft.ts";
import type { SimOperation } from "#fleet/sim-operation/sim-operation.ts";
import type { RunHead } from "./ledger/run-record.ts";

/** Who submits a run, and how it was confirmed. */
export interface Submission {
  /** `cli:anna`, `schedule:nightly` */
  readonly by: string;
  /** Submitting again with the same id returns the existing run; without an id each submission creates a new run. */
  readonly runId?: string | undefined;
  /** The number of calls that cannot be undone, as a user confirmed it. */
  readonly confirm?: number | undefined;
  /** No user can confirm a number: a run whose calls cannot be undone waits for approval. */
  readonly isUnattended?: true | undefined;
}

/**
 * The state in which a run of these rows starts.
 * @throws IntakeError if rows are invalid and `partial` is not set
 * @throws SimfleetError NOT_CONFIRMED, USAGE if there are more changes than the policy allows, RUN_STATE_CONFLICT if an
 *   undo would restore nothing
 */
export function firstState(
  report: PlanReport,
  { operations, options, undoOf }: Pick<DraftHead, "operations" | "options" | "undoOf">,
  { policy, confirm, isUnattended }: Omit<Submission, "by"> & { readonly policy: RunPolicy },
): RunState {
  const { calls, irreversible } = report;
  const { maxChanges, approvalAbove, approvalFor } = policy;
  assertAllValid(report, options);
  if (undoOf !== undefined && calls === 0) {
    const [why = "nothing to restore"] = report.warnings;
    throw new SimfleetError("RUN_STATE_CONFLICT", `Run ${undoOf} was not undone: ${why}. Nothing was started`);
  }
  const needsPerson = isUnattended === true && operations.some(({ danger }) => danger === "irreversible");
  if (!needsPerson && irreversible > 0 && confirm !== irreversible) {
    const given =
      confirm === undefined ? "was not confirmed" : `was confirmed for ${confirm} SIMs, not ${irreversible}`;
    throw new SimfleetError(
      "NOT_CONFIRMED",
      `${maxDangerous(operations).name} is irreversible and ${given}: nothing was started. Confirm the number of SIMs: --confirm ${irreversible} on the command line, confirm in the API`,
    );
  }
  if (maxChanges !== undefined && calls > maxChanges) {
    throw new SimfleetError(
      "USAGE",
      `The run has ${calls} changes, more than the limit of ${maxChanges} (changes.maxRows). Nothing was started. Split the file or raise the limit`,
    );
  }
  if (calls === 0) return "completed";
  const isLarge = approvalAbove !== undefined && calls > approvalAbove;
  const isDangerous = operations.some(({ danger }) => approvalFor.includes(danger));
  return needsPerson || isLarge || isDangerous ? "awaiting-approval" : "running";
}

/**
 * Rejects a plan with invalid rows unless `partial` is set.
 * @throws IntakeError
 */
export function assertAllValid(
  { rows, problemsInAll: invalid, problems }: Pick<PlanReport, "rows" | "problemsInAll" | "problems">,
  { partial }: { readonly partial: boolean },
): void {
  if (invalid === 0 || (partial && invalid < rows)) return;
  const first = problems[0];
  const say = (problem: string): string => {
    const example = first === undefined ? "" : ` (the first: line ${first.line}: ${problem})`;
    if (invalid === rows) return `No row of the file can be sent${example}. Nothing was started.`;
    return `${invalid} of ${rows} rows cannot be sent${example}. Nothing was started. Fix them, or process only the valid rows: --partial on the command line, partial=true in the API.`;
  };
  throw new IntakeError(say(first?.message ?? ""), {
    withoutContent: say(first === undefined ? "" : withoutContent(first)),
  });
}

const idAlphabet = "abcdefghjkmnpqrstuvwxyz23456789";

/** `r-20261120-103045-x7k2m9ab`: sorts by time, is easy to read out, and is never all digits. */
export function newRunId(wallMs: number): string {
  return runIdFor(randomUUID(), wallMs);
}

/** Characters after the time: two runs of the same second collide once in 850 billion. */
const tailLength = 8;

/** Derives a run id from a key; the same key always gives the same id: `r-20261120-103045-x7k2m9ab`. */
export function runIdFor(key: string, wallMs: number): string {
  const digest = hash("sha256", key, "buffer");
  const tail = Array.from({ length: tailLength }, (_, i) => idAlphabet[(digest[i] ?? 0) % idAlphabet.length]).join("");
  return `r-${stampOf(wallMs)}-${tail}`;
}

// Limits on the size of a run: the maximum, and the size above which a second user must approve it.

/** `approvalFor`: runs of operations with one of these dangers wait for approval, whatever their size. */
export type RunPolicy = Kernel["config"]["changes"];

/** The operation of a run to name before it starts: one that is irreversible, or the first. */
export function maxDangerous(operations: RunHead["operations"]): SimOperation {
  return operations.find(({ danger }) => danger === "irreversible") ?? operations[0];
}
