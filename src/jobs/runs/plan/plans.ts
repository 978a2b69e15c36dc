/**
 * Planned runs: drafts that are kept for an hour, until they are started. They are in Redis, so any worker shows and starts
 * them, and expire there. The number and bytes of one caller's plans are limited, uploads in progress included.
 */
import { randomUUID } from "node:crypto";
import { SimfleetError } from "#core/errors.ts";
import { type Clock, isoTime, minuteMs } from "#core/time.ts";
import type { PlanDocument, PlanReport, PlanRow, RowVerdict } from "../contract.ts";
import type { RowGroup, RunRecord } from "../ledger/run-record.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Draft } from "./draft.ts";
import { planLines, planRowPage } from "../results/row-page.ts";

const keepMs = 60 * minuteMs;

/** A draft with its report. */
export interface Planned {
  readonly draft: Draft;
  readonly report: PlanReport;
  /** The number of calls that cannot be undone, as it was confirmed with the plan. */
  readonly confirm?: number | undefined;
}

/** A plan as it is kept with its run. */
export interface KeptPlan {
  readonly run: RunRecord;
  readonly expiresAtMs: number;
  readonly report: PlanReport;
  readonly takes: readonly RowGroup[];
  readonly confirm?: number | undefined;
}

/** Limits of one caller. */
export interface PlanLimits {
  readonly plansPerCaller: number;
  readonly planBytesPerCaller: number;
}

/** Room for what one request uploads. */
export type Reservation = Awaited<ReturnType<Plans["reserve"]>>;

export class Plans {
  readonly #ledger: Ledger;
  readonly #clock: Clock;

  constructor({ ledger, clock }: { readonly ledger: Ledger; readonly clock: Clock }) {
    this.#ledger = ledger;
    this.#clock = clock;
  }

  /** @throws SimfleetError NOT_FOUND if it has expired, was started, or never was */
  async get(planId: string): Promise<KeptPlan> {
    const run = await this.#ledger.run(planId).catch((thrown: unknown) => {
      if (thrown instanceof SimfleetError && thrown.code === "RUN_NOT_FOUND") throw missing(planId);
      throw thrown;
    });
    if (run.plan === undefined) throw missing(planId);
    return { ...(JSON.parse(run.plan) as Omit<KeptPlan, "run">), run };
  }

  /**
   * Keeps a draft as the plan with this id.
   * @param origin `upload`: the room that was reserved for it
   */
  async keep(
    { draft, report, confirm }: Planned,
    { planId, by, upload }: { planId: string; by: string; upload?: { id: string; bytes: number } | undefined },
  ): Promise<PlanDocument> {
    const createdAtMs = this.#clock.wallMs();
    const expiresAtMs = createdAtMs + keepMs;
    const { id: uploadId, bytes = 0 } = upload ?? {};
    // Also removes what has expired.
    if (upload === undefined) await this.#ledger.reservePlan(planId, { by, bytes, expiresAtMs });
    const kept: Omit<KeptPlan, "run"> = { expiresAtMs, report, takes: draft.takes, confirm };
    const head = { ...draft.head, runId: planId, createdAtMs, submittedBy: by };
    const more = uploadId === undefined ? {} : { uploadId };
    await this.#ledger.keepPlan(head, draft.draftId, { text: JSON.stringify(kept), expiresAtMs, bytes, ...more });
    return documentOf(planId, kept);
  }

  /** @throws SimfleetError NOT_FOUND */
  async show(planId: string): Promise<PlanDocument> {
    return documentOf(planId, await this.get(planId));
  }

  /** Lists the rows of a plan with their verdicts. @throws SimfleetError NOT_FOUND, REQUEST_INVALID */
  async rows(
    planId: string,
    query: { verdict?: RowVerdict | undefined; limit: number; cursor?: string | undefined },
  ): Promise<{ rows: PlanRow[]; nextCursor: string | null }> {
    return planRowPage((await this.get(planId)).run, this.#ledger, query);
  }

  /** Renders the verdict of every row of a plan, as lines of a CSV file. @throws SimfleetError NOT_FOUND */
  async verdicts(planId: string): Promise<AsyncGenerator<string>> {
    const { run } = await this.get(planId);
    return planLines(run, this.#ledger);
  }

  /** @throws SimfleetError NOT_FOUND */
  async remove(planId: string): Promise<void> {
    if (!(await this.#ledger.removePlan(planId))) throw missing(planId);
  }

  /**
   * Reserves room for an upload. The caller has to release it.
   * @throws SimfleetError PLAN_LIMIT when the caller has too many plans, or too many bytes of them
   */
  async reserve(by: string, limits: PlanLimits) {
    const { plansPerCaller: maxPlans, planBytesPerCaller: maxBytes } = limits;
    const id = `u-${randomUUID()}`;
    let bytes = 0;
    const take = async (more: number): Promise<void> => {
      bytes += more;
      const expiresAtMs = this.#clock.wallMs() + keepMs;
      const reply = await this.#ledger.reservePlan(id, { by, bytes, expiresAtMs }, { maxPlans, maxBytes });
      if (reply[0] === "reserved") return;
      if (reply[0] === "bytes") {
        throw limited(`more than ${maxBytes} bytes of plans and files (http.planBytesPerCaller)`);
      }
      const [, oldest = "", oldestMs = 0] = reply;
      const first = oldest === "" ? "" : `; the oldest is ${oldest}`;
      const what = `more than ${maxPlans} plans and files (http.plansPerCaller)${first}`;
      throw limited(what, oldest === "" ? minuteMs : oldestMs - this.#clock.wallMs());
    };
    await take(0);
    return {
      id,
      /** Bytes that have come so far. */
      get bytes(): number {
        return bytes;
      },
      /** Takes note of more bytes. @throws SimfleetError PLAN_LIMIT when they are too many */
      grow: take,
      /** Gives it back. */
      release: () => this.#ledger.releasePlan(id),
    };
  }
}

function documentOf(planId: string, { expiresAtMs, report }: Pick<KeptPlan, "expiresAtMs" | "report">): PlanDocument {
  return { planId, expiresAt: isoTime(expiresAtMs) ?? "", ...report };
}

export function missing(planId: string): SimfleetError {
  return new SimfleetError(
    "NOT_FOUND",
    `There is no plan ${planId}: a plan is kept for an hour, until it is started. Create a new plan`,
  );
}

function limited(what: string, retryAfterMs: number = minuteMs): SimfleetError {
  const message = `You would have ${what}. Delete plans with DELETE /v1/plans/ID, or wait until they expire, an hour after their creation`;
  return new SimfleetError("PLAN_LIMIT", message, { retryAfterMs: Math.max(1_000, retryAfterMs) });
}
