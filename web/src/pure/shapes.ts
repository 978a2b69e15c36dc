/**
 * The control API's responses, as far as the dashboard reads them. test/contract/dashboard-shapes.types.ts ties them to
 * the server.
 */
import type { EventDocument } from "#events/contract.ts";
import type { FreezeReport } from "#jobs/freezes/contract.ts";
import type { ScheduleReport } from "#jobs/schedules/contract.ts";
import type { PlanDocument, PlanRow, RowReport, RunReport } from "#jobs/runs/contract.ts";

export type { Me } from "#contract/me.ts";
export type { ProfileReport } from "#contract/profiles.ts";
export type { AuditEntry } from "#jobs/audit/contract.ts";
export type { FreezeReport, FreezeTimeReport } from "#jobs/freezes/contract.ts";
export type { Change, FleetPoint, FleetReport, SyncReport } from "#jobs/inventory/contract.ts";
export type { BucketReport } from "#jobs/quota/contract.ts";
export type { ScheduleReport } from "#jobs/schedules/contract.ts";
export type { PlanRow, RunReport } from "#jobs/runs/contract.ts";

export type RunState = RunReport["state"];
export type Tally = RunReport["counts"];
export type RunRow = RowReport;
export type Outcome = RowReport["outcome"];
export type PlanReport = PlanDocument;
export type RowVerdict = PlanRow["verdict"];

export const outcomes = ["done", "skipped", "rejected", "failed", "cancelled", "pending"] as const satisfies Outcome[];

/** Why work makes no progress, and when it is retried. */
export interface CurrentProblem {
  readonly message: string;
  readonly since: string;
  readonly attempts: number;
  readonly nextAttemptAt: string | null;
}

export const verdicts = [
  "change",
  "unchanged",
  "unknown",
  "duplicate",
  "conflict",
  "invalid",
] as const satisfies RowVerdict[];

export interface Reference {
  readonly groupId: string;
  readonly namespace: string;
  readonly how: "id" | "placeholder";
}

export interface SetReport {
  readonly credentialsId: string;
  readonly type: string | null;
  readonly description: string | null;
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  readonly lastUsedAt: string | null;
  readonly references: readonly Reference[] | null;
  readonly rotation: string | null;
}

export interface RotationReport {
  readonly name: string;
  readonly profile: string;
  readonly state: string;
  readonly strategy: string;
  readonly type: string;
  readonly rotationId: string | null;
  readonly credentialsId: string | null;
  readonly before: string | null;
  readonly successor: string | null;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly rotatedAt: string | null;
  readonly ageDays: number | null;
  readonly lastUsedAt: string | null;
  readonly nextStep: string | null;
  readonly nextAt: string | null;
  readonly waitsFor: string | null;
  readonly reason: string | null;
  readonly problem?: CurrentProblem;
  readonly handedTo: readonly string[];
  readonly references: readonly Reference[] | null;
}

export interface AuthKeyReport {
  readonly authKeyId: string;
  readonly createdAt: string | null;
  readonly ageDays: number | null;
  readonly lastUsedAt: string | null;
  readonly configured: "first" | "second" | null;
  readonly usedBy: readonly string[];
}

export interface AuthKeyRotationReport {
  readonly rotationId: string;
  readonly profile: string;
  readonly state: string;
  readonly oldAuthKeyId: string | null;
  readonly newAuthKeyId: string | null;
  readonly now: string | null;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly reason: string | null;
  readonly problem?: CurrentProblem;
}

export type UnderWay = NonNullable<ScheduleReport["running"]>;
export type FiringReport = NonNullable<ScheduleReport["last"]>;

export type Held = NonNullable<FreezeReport["profiles"][string]>;

export interface AutomationReport {
  readonly name: string;
  readonly on: readonly string[];
  /** Empty if there is no condition. */
  readonly where: string;
  readonly job: string;
  readonly speedClass: string | null;
  readonly state: "active" | "paused" | "stopped";
  readonly reason: string | null;
  /** Events that it acted on, events with nothing to do, and events for which it failed. */
  readonly done: number;
  readonly unchanged: number;
  readonly failed: number;
  readonly lastEventAt: string | null;
  /** The run, sync or rotation that it started last. */
  readonly lastRef: string | null;
}

export interface DeliveryReport {
  readonly deliveryId: string;
  readonly webhook: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly state: "pending" | "delivered" | "failed";
  readonly attempts: number;
  readonly lastStatus: number | null;
  readonly lastReason: string | null;
  readonly createdAt: string;
  readonly finishedAt: string | null;
  readonly nextAttemptAt: string | null;
}

export interface WebhookReport {
  readonly name: string;
  /** Scheme and host; the rest of an address may be a secret. */
  readonly url: string;
  readonly events: readonly string[];
  readonly state: "active" | "stopped";
  /** Why it is stopped. */
  readonly reason: string | null;
  readonly pending: number;
  readonly lastDelivery: DeliveryReport | null;
}

/** The result of a test message. */
export interface TestReport {
  readonly accepted: boolean;
  readonly status: number | null;
  readonly reason: string | null;
}

export type FleetEvent = EventDocument;
