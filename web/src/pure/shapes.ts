/** The reports of the control API under the dashboard's names for them. Their types are those of the contracts. */
import type { EventDocument } from "#events/contract.ts";

import type { FreezeReport } from "#jobs/freezes/contract.ts";
import type { SetReport } from "#jobs/credentials/contract.ts";
import type { PlanDocument, PlanRow, RowReport, RunReport } from "#jobs/runs/contract.ts";

export type { Summary } from "#events/contract.ts";
export type { Me } from "#contract/me.ts";
export type { ProfileReport } from "#jobs/profiles/contract.ts";
export type { AuditEntry } from "#jobs/audit/contract.ts";
export type { FreezeReport, FreezeTimeReport } from "#jobs/freezes/contract.ts";
export type {
  Change,
  FleetPoint,
  FleetReport,
  SimCount,
  SimDocument,
  SimField,
  SimFields,
  SyncReport,
} from "#jobs/inventory/contract.ts";
export type { OperationReport } from "#jobs/operations/contract.ts";
export type { BucketReport } from "#jobs/quota/contract.ts";
export type { ScheduleReport } from "#jobs/schedules/contract.ts";
export type { Changed, PlanRow, RunReport, SimRun } from "#jobs/runs/contract.ts";
export type { RunSummary } from "#jobs/runs/contract.ts";
export type { AuthKeyReport, AuthKeyRotationReport } from "#jobs/authkeys/contract.ts";
export type { AutomationReport } from "#jobs/automations/contract.ts";
export type { RotationReport, SetReport } from "#jobs/credentials/contract.ts";
export type { DeliveryReport, TestReport, WebhookReport } from "#jobs/webhooks/contract.ts";

export type RunState = RunReport["state"];
export type Tally = RunReport["counts"];
export type RunRow = RowReport;
export type Outcome = RowReport["outcome"];
export type PlanReport = PlanDocument;
export type RowVerdict = PlanRow["verdict"];

export const outcomes = [
  "done",
  "skipped",
  "rejected",
  "failed",
  "unknown",
  "cancelled",
  "pending",
] as const satisfies Outcome[];

/** Why work makes no progress, and when it is retried. */
export type CurrentProblem = NonNullable<RunReport["problem"]>;

export const verdicts = [
  "change",
  "unchanged",
  "not-in-inventory",
  "duplicate",
  "conflict",
  "rejected",
  "invalid",
] as const satisfies RowVerdict[];

export type Reference = NonNullable<SetReport["references"]>[number];

export type Held = NonNullable<FreezeReport["profiles"][string]>;
export type FleetEvent = EventDocument;
