/**
 * Runs the tasks of schedules and automations through the same services that users call. Beginning a task twice under
 * one key returns the first result: a run's id is derived from the key, and a sync or rotation in progress is resumed.
 */
import { Readable } from "node:stream";
import { SimfleetError } from "#core/errors.ts";
import { type RunOptions, isRunSettled } from "#fleet/run.ts";
import { inputsOf, shownInputs } from "#fleet/sim-operation/sim-operation.ts";
import type { AutomationAction, Task, TaskReference, TaskStatus } from "#fleet/task.ts";
import type { AuthKeyService } from "#jobs/authkeys/open.ts";
import type { CredentialService } from "#jobs/credentials/open.ts";
import type { Order, RunService } from "#jobs/runs/service.ts";
import type { FleetReport } from "#jobs/inventory/contract.ts";
import type { RowOrigin } from "#jobs/runs/plan/row-source.ts";
import type { PlanReport, RunReport } from "#jobs/runs/contract.ts";
import { writeResults } from "#core/files/output-file.ts";
import type { OpenInventory } from "#jobs/inventory/service.ts";
import type { UsageService } from "#jobs/usage/open.ts";
import { runIdFor } from "#jobs/runs/submit.ts";

interface Deps {
  readonly runs: { readonly service: RunService };
  readonly inventory: Pick<OpenInventory, "service">;
  readonly usage: UsageService;
  readonly credentials: CredentialService;
  readonly authKeys: AuthKeyService;
}

/** How a task is started. */
interface Beginning {
  /** Whether a run must not start anymore, asked when it has been planned. */
  readonly isLate?: () => boolean;
  readonly key: string;
  readonly by: string;
  /** Time in the ID of its run, ms since the epoch: with the key, it is the same after any crash. */
  readonly dueMs: number;
  /** A rotation that started after this time belongs to this task, ms since the epoch. */
  readonly sinceMs: number;
}

type TaskOf<J extends Task["job"]> = Extract<Task, { readonly job: J }>;

/** Identifies the run of a task, and who starts it. */
interface Signature extends Pick<Beginning, "isLate" | "by"> {
  readonly runId: string;
}

export type Tasks = Pick<ServiceTasks, "begin" | "begunBefore" | "status" | "cancel">;

export type AutomationTasks = Pick<ServiceTasks, "begin" | "changeSims">;

const noSimMatches = "no SIM matches the filter";
const allAsRequested = "every SIM already has the requested values";

export class ServiceTasks {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * Starts a task, or returns what was started under the key before.
   * @returns a text if there is nothing to do, with the reason
   */
  begin(task: Task, options: Beginning): Promise<TaskReference | string> {
    switch (task.job) {
      case "apply":
        return this.#apply(task, options);
      case "sync":
        return this.#deps.inventory.service
          .sync(task.profile, { by: options.by })
          .then(({ syncId: id }) => ({ kind: "sync", id }));
      case "usage":
        return this.#deps.usage
          .sync(task.profile)
          .report.then(({ sims, crossed }) => `${sims} SIMs with usage, ${crossed} crossed`);
      case "rotate":
      case "rotate-authkey":
        return this.#rotate(task, options);
      case "report":
        return this.#report(task);
    }
  }

  /** Work that was started under the key. Undefined if there is none, and for tasks that change nothing. */
  async begunBefore(task: Task, { key, dueMs, sinceMs }: Beginning): Promise<TaskReference | undefined> {
    const { runs, credentials, authKeys } = this.#deps;
    const isOurs = (at: string | null | undefined): boolean => Date.parse(at ?? "") >= sinceMs;
    switch (task.job) {
      case "apply": {
        const id = runIdFor(key, dueMs);
        return (await runs.service.exists(id)) ? { kind: "run", id } : undefined;
      }
      case "rotate": {
        const { startedAt, rotationId } = await credentials.report(task.rotation);
        return isOurs(startedAt) ? { kind: "rotation", id: rotationId ?? "" } : undefined;
      }
      case "rotate-authkey": {
        const report = await authKeys.report({ profile: task.profile });
        return report && isOurs(report.startedAt) ? { kind: "authkey-rotation", id: report.rotationId } : undefined;
      }
      case "sync":
      case "usage":
      case "report":
        return undefined;
    }
  }

  /** Previews a task; nothing is started. @throws what prevents its run, as `begin` does */
  async preview(task: Task) {
    if (task.job === "apply") return this.#previewRun(task);
    const words = {
      sync: "would sync the inventory",
      usage: "would read the usage of the SIMs",
      rotate: "would rotate the secret of a Credential Set",
      "rotate-authkey": "would rotate the AuthKey",
      report: "would write its file",
    };
    return { does: words[task.job], plan: null };
  }

  async status(task: Task, { kind, id }: TaskReference): Promise<TaskStatus> {
    switch (kind) {
      case "run":
        return statusOfRun(await this.#deps.runs.service.show(id));
      case "sync": {
        const report = await this.#deps.inventory.service.syncReport(task.profile);
        if (report?.syncId !== id) return followed;
        if (report.state === "listing" || report.state === "sweeping") return { isOver: false };
        return report.state === "failed" ? over("failed", report.reason) : over("done", `${report.sims} SIMs listed`);
      }
      case "rotation": {
        const report = task.job === "rotate" ? await this.#deps.credentials.report(task.rotation) : undefined;
        if (report?.rotationId !== id) return followed;
        return statusOfRotation(report.state, report.reason);
      }
      case "authkey-rotation": {
        const report = await this.#deps.authKeys.report({ profile: task.profile });
        return report?.rotationId === id ? statusOfRotation(report.state, report.reason) : followed;
      }
      case "report":
        return over("done", id);
    }
  }

  /** Does an operation to SIMs, in the run with this id; an existing run is kept unchanged. */
  async changeSims(
    { sims, ...change }: Order & { readonly sims: readonly string[] },
    { name, ...signature }: Signature & { readonly name: string },
  ): Promise<TaskReference> {
    await this.#submit({ sims }, { ...change, name }, signature);
    return { kind: "run", id: signature.runId };
  }

  async cancel({ kind, id }: TaskReference, options: { by: string; reason: string }): Promise<void> {
    if (kind !== "run") return;
    try {
      await this.#deps.runs.service.control.cancel(id, options);
    } catch (thrown) {
      // It had ended before it could be cancelled.
      if (!(thrown instanceof SimfleetError) || thrown.code !== "RUN_STATE_CONFLICT") throw thrown;
    }
  }

  async #apply(task: TaskOf<"apply">, { key, dueMs, ...how }: Beginning): Promise<TaskReference | string> {
    const runId = runIdFor(key, dueMs);
    try {
      const begun = await this.#submit(toOrigin(task), { ...task, name: key }, { ...how, runId });
      return begun === "nothing" ? allAsRequested : { kind: "run", id: runId };
    } catch (thrown) {
      if (isNoSim(thrown)) return noSimMatches;
      throw thrown;
    }
  }

  async #previewRun(task: TaskOf<"apply">) {
    const { service: runService } = this.#deps.runs;
    try {
      const planned = await runService.draft(toOrigin(task), task);
      await runService.discard(planned);
      const does = isNothing(planned.report, task.options)
        ? `would do nothing: ${allAsRequested}`
        : "would start this run";
      return { does, plan: planned.report };
    } catch (thrown) {
      if (isNoSim(thrown)) return { does: `would do nothing: ${noSimMatches}`, plan: null };
      throw thrown;
    }
  }

  /** Submits the run unless it exists; `nothing` if it would make no call. */
  async #submit(from: RowOrigin, order: Order, { runId, by, isLate }: Signature) {
    const { service: runService } = this.#deps.runs;
    if (await runService.exists(runId)) return "submitted";
    const planned = await runService.draft(from, order);
    if (isNothing(planned.report, order.options)) {
      await runService.discard(planned);
      return "nothing";
    }
    if (isLate?.() === true) {
      await runService.discard(planned);
      throw new Error("planning its run took too long");
    }
    await runService.submit(planned, { by, runId, isUnattended: true });
    return "submitted";
  }

  async #rotate(task: TaskOf<"rotate" | "rotate-authkey">, beginning: Beginning): Promise<TaskReference> {
    const { credentials, authKeys } = this.#deps;
    const { by } = beginning;
    // Begun before a crash, and possibly ended since.
    const begun = await this.begunBefore(task, beginning);
    if (begun !== undefined) return begun;
    if (task.job === "rotate-authkey") {
      return { kind: "authkey-rotation", id: (await authKeys.rotate({ profile: task.profile }, { by })).rotationId };
    }
    const { rotationId } = await credentials.rotate(task.rotation, { by, signal: new AbortController().signal });
    return { kind: "rotation", id: rotationId ?? "" };
  }

  async #report({ profile, file }: TaskOf<"report">): Promise<TaskReference> {
    const fleet: FleetReport = await this.#deps.inventory.service.fleet(profile);
    const { runs } = await this.#deps.runs.service.list({ limit: 50 });
    const report = { ...fleet, runs: runs.filter((run) => run.profile === profile) };
    const fix = "Create the folder, and allow simfleet to write to it";
    await writeResults(file, Readable.from([`${JSON.stringify(report, undefined, 2)}\n`]), fix);
    return { kind: "report", id: file };
  }
}

function toOrigin({ from }: TaskOf<"apply">): RowOrigin {
  return "file" in from ? { path: from.file } : from;
}

function isNoSim(thrown: unknown): boolean {
  return thrown instanceof SimfleetError && thrown.code === "NO_SIM_MATCHES";
}

/** Whether a run would make no call, and has nothing to report either. */
function isNothing({ calls, rows, problemsInAll, supersedes }: PlanReport, options: RunOptions): boolean {
  const isValid = problemsInAll === 0 || (options.partial && problemsInAll < rows);
  return calls === 0 && isValid && options.skipUnchanged !== false && supersedes.length === 0;
}

function over(result: "done" | "failed" | "cancelled", reason?: string): TaskStatus {
  return { isOver: true, result, reason };
}

/** The result of a sync or rotation is stored only until the next one starts. */
const followed: TaskStatus = over("done", "a later one replaced it, so its result is unknown");

function statusOfRun(report: RunReport): TaskStatus {
  if (!isRunSettled(report)) return { isOver: false };
  const { state, counts, reason } = report;
  if (state === "cancelled") return over("cancelled", reason);
  const { total, done, skipped, rejected, failed, unknown } = counts;
  if (state === "aborted") return over("failed", reason);
  const text = `${done} of ${total} rows done${skipped > 0 ? `, ${skipped} skipped` : ""}`;
  const bad = rejected + failed + unknown;
  return bad > 0 ? over("failed", `${text}, ${bad} rejected, failed or unknown`) : over("done", text);
}

function statusOfRotation(state: string, reason: string | null): TaskStatus {
  if (state === "done") return over("done", reason ?? undefined);
  return state === "failed" ? over("failed", reason ?? undefined) : { isOver: false };
}

/** The operation of a task, if it has one, and the values for all rows; secret ones are left out. */
export function shownOperation(task: Task | AutomationAction, profile: string, runs: Pick<RunService, "operation">) {
  if (task.job !== "apply") return { operation: null, set: {} };
  const operation = runs.operation(task.operation, profile);
  return { operation: operation.name, set: shownInputs(operation, inputsOf(operation, task.set)) };
}
