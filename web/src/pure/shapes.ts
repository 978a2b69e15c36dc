/**
 * The control API's responses, as far as the dashboard reads them. test/contract/dashboard-shapes.types.ts ties them to
 * the server.
 */
import type { SetReport } from "#jobs/credentials/contract.ts";
import type { ScheduleReport } from "#jobs/schedules/contract.ts";
import type { Role } from "./role.ts";

export type { AuthKeyReport, AuthKeyRotationReport } from "#jobs/authkeys/contract.ts";
export type { AutomationReport } from "#jobs/automations/contract.ts";
export type { RotationReport, SetReport } from "#jobs/credentials/contract.ts";
export type { ScheduleReport } from "#jobs/schedules/contract.ts";
export type {
  DeliveryReport,
  EventDocument as FleetEvent,
  TestReport,
  WebhookReport,
} from "#jobs/webhooks/contract.ts";

export interface Me {
  readonly name: string;
  readonly role: Role;
  readonly kind: "token" | "jwt" | "admin-token";
  readonly version: string;
}

export interface ProfileReport {
  readonly name: string;
  readonly coverage: "g" | "jp" | null;
  readonly wording: "sims" | "subscribers";
  readonly isDefault: boolean;
  readonly hasCredentials: boolean;
  readonly speedClasses: readonly string[];
}

export type RunState = "awaiting-approval" | "running" | "paused" | "completed" | "aborted" | "cancelled";

export const outcomes = ["done", "skipped", "rejected", "failed", "cancelled", "pending"] as const;
export type Outcome = (typeof outcomes)[number];

export interface Tally {
  readonly total: number;
  readonly done: number;
  readonly skipped: number;
  readonly rejected: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly pending: number;
}

/** Why work makes no progress, and when it is retried. */
export interface CurrentProblem {
  readonly message: string;
  readonly since: string;
  readonly attempts: number;
  readonly nextAttemptAt: string | null;
}

export interface RunReport {
  readonly runId: string;
  readonly name: string;
  readonly state: RunState;
  readonly profile: string;
  readonly counts: Tally;
  readonly calls: number;
  readonly throttled: number;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly etaSeconds: number | null;
  readonly reason?: string;
  readonly problem?: CurrentProblem;
  /** Who submitted it: `token:ci`. */
  readonly submittedBy?: string;
  readonly retryOf?: string;
  readonly undoOf?: string;
}

export interface RunRow {
  readonly line: number;
  readonly key: string;
  readonly speedClass: string;
  readonly outcome: Outcome;
  /** Empty if there is none, as with the previous class. */
  readonly reason: string;
  readonly previousSpeedClass: string;
  readonly attempts: number;
  readonly finishedAt: string | null;
}

export const verdicts = ["change", "unchanged", "unknown", "duplicate", "conflict", "invalid"] as const;
export type RowVerdict = (typeof verdicts)[number];

export interface PlanReport {
  readonly planId: string;
  readonly expiresAt: string;
  readonly file?: string;
  readonly where?: string;
  readonly rows: number;
  readonly verdicts: Readonly<Record<RowVerdict, number>>;
  readonly calls: number;
  readonly estimateSeconds: number | null;
  readonly problems: readonly PlanProblem[];
  readonly problemsInAll: number;
  readonly warnings: readonly string[];
}

export interface PlanProblem {
  readonly line: number;
  readonly column: string;
  readonly code: string;
  readonly message: string;
}

export interface PlanRow {
  readonly line: number;
  readonly key: string;
  readonly verdict: RowVerdict;
  readonly before: string | null;
  readonly after: string | null;
  readonly problem?: { readonly code: string; readonly column: string; readonly message: string } | undefined;
}

export interface SyncReport {
  readonly syncId: string;
  readonly profile: string;
  readonly state: "listing" | "sweeping" | "finished" | "failed";
  readonly sims: number;
  readonly pages: number;
  readonly added: number;
  readonly changed: number;
  readonly returned: number;
  readonly gone: number;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly seconds: number | null;
  readonly reason?: string;
  readonly problem?: CurrentProblem;
}

export interface FleetReport {
  readonly profile: string;
  readonly total: number;
  readonly gone: number;
  readonly isComplete: boolean;
  readonly lastSync: SyncReport | null;
  readonly bySpeedClass: Readonly<Record<string, number>>;
  readonly byStatus: Readonly<Record<string, number>>;
  readonly byGroup: Readonly<Record<string, number>>;
}

export interface FleetPoint {
  readonly at: string;
  readonly total: number;
  readonly bySpeedClass: Readonly<Record<string, number>>;
}

export interface Change {
  readonly id: string;
  readonly at: string;
  readonly type: string;
  readonly sim: string;
  readonly field?: string;
  readonly before?: unknown;
  readonly after?: unknown;
  readonly by: "run" | "outside";
  readonly cause: string;
}

export interface BucketReport {
  readonly bucket: string;
  readonly limit: number | null;
  readonly left: number | null;
  readonly inFlight: number;
  readonly reserve: number | null;
  readonly secondsToRefresh: number | null;
  readonly refreshDoubtSeconds: number | null;
  readonly frozen: boolean;
  readonly calls: number;
  readonly throttled: number;
  readonly waiters: readonly { readonly process: string; readonly waiting: number }[];
  /** Recent windows, newest last. */
  readonly windows: readonly BucketWindow[];
}

export interface BucketWindow {
  readonly at: string;
  readonly calls: number;
  readonly throttled: number;
}

export type Reference = NonNullable<SetReport["references"]>[number];

export type UnderWay = NonNullable<ScheduleReport["running"]>;
export type FiringReport = NonNullable<ScheduleReport["last"]>;

export interface FreezeReport {
  /** The freeze ordered by a user. */
  readonly ordered: {
    readonly by: string;
    readonly reason: string;
    readonly since: string;
    readonly until: string | null;
  } | null;
  /** The active freeze of each profile. */
  readonly profiles: Readonly<Record<string, Held | null>>;
  /** Configured freezes that are active or upcoming. */
  readonly windows: readonly FreezeTimeReport[];
}

export interface Held {
  readonly reason: string;
  readonly until: string | null;
}

export interface FreezeTimeReport {
  readonly name: string;
  /** Null: every profile. */
  readonly profile: string | null;
  readonly from: string;
  readonly to: string;
}

export interface AuditEntry {
  readonly id: string;
  readonly at: string;
  /** Null: unknown. */
  readonly who: string | null;
  readonly role: string | null;
  /** `POST /v1/runs/:runId/pause` */
  readonly action: string;
  readonly target: string | null;
  readonly result: "done" | "refused" | "failed" | "not recorded";
  /** HTTP status; null for a command, and if it is not recorded. */
  readonly status: number | null;
  readonly exitCode: number | null;
  readonly requestId: string;
  readonly from: string;
}
