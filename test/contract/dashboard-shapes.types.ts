/**
 * Ties what the dashboard reads (web/src/pure/shapes.ts) to what the server reports. Nothing runs here: `npm run types`
 * fails where a report lacks a field that the dashboard reads, or gives it another type.
 */
import type { Role } from "#fleet/role.ts";
import type { RunState } from "#fleet/run.ts";
import type { BucketWindow } from "#http/bucket-windows.ts";
import type { AuditEntry } from "#jobs/audit/service.ts";
import type { BucketReport } from "#jobs/quota/report.ts";
import type { Change } from "#jobs/inventory/changes.ts";
import type { FleetPoint } from "#jobs/inventory/fleet-service.ts";
import type { FleetReport } from "#jobs/inventory/fleet-report.ts";
import type { FreezeReport, FreezeTimeReport } from "#jobs/freezes/report.ts";
import type { PlanReport } from "#jobs/runs/plan/plan-report.ts";
import type { PlanRow } from "#jobs/runs/plan/plan-rows.ts";
import type { RunReport } from "#jobs/runs/report.ts";
import type { RowReport } from "#jobs/runs/row-page.ts";
import type { SyncReport } from "#jobs/inventory/sync-report.ts";
import type { Role as RoleRead } from "../../web/src/pure/role.ts";
import type * as read from "../../web/src/pure/shapes.ts";

/** What the shape has and reports do not; that a report can be read as the shape, its constraint sees to. */
type Missing<Report extends Shape, Shape> = Exclude<keyof Shape, keyof Report>;
type Nothing<Left extends Record<string, never>> = Left;

export type Ties = Nothing<{
  role: Missing<Role, RoleRead>;
  runState: Missing<RunState, read.RunState>;
  runReport: Missing<RunReport, read.RunReport>;
  rowReport: Missing<RowReport, read.RunRow>;
  planReport: Missing<PlanReport, Omit<read.PlanReport, "planId" | "expiresAt">>;
  planRow: Missing<PlanRow, read.PlanRow>;
  syncReport: Missing<SyncReport, read.SyncReport>;
  change: Missing<Change, read.Change>;
  bucketReport: Missing<BucketReport & { windows: readonly BucketWindow[] }, read.BucketReport>;
  bucketWindow: Missing<BucketWindow, read.BucketWindow>;
  fleetReport: Missing<FleetReport, read.FleetReport>;
  fleetPoint: Missing<FleetPoint, read.FleetPoint>;
  freezeReport: Missing<FreezeReport, read.FreezeReport>;
  freezeTimeReport: Missing<FreezeTimeReport, read.FreezeTimeReport>;
  auditEntry: Missing<AuditEntry, read.AuditEntry>;
}>;
