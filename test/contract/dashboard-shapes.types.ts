/**
 * Ties what the dashboard reads (web/src/pure/shapes.ts) to what the server reports. Nothing runs here: `npm run types`
 * fails where a report lacks a field that the dashboard reads, or gives it another type.
 */
import type { Role } from "#fleet/role.ts";
import type { AuthKeyReport, AuthKeyRotationReport } from "#jobs/authkeys/report.ts";
import type { AutomationReport } from "#jobs/automations/service.ts";
import type { SetReport } from "#jobs/credentials/service.ts";
import type { RotationReport } from "#jobs/credentials/report.ts";
import type { DeliveryReport, TestReport, WebhookReport } from "#jobs/webhooks/report.ts";
import type { Role as RoleRead } from "../../web/src/pure/role.ts";
import type * as read from "../../web/src/pure/shapes.ts";

/** What the shape has and reports do not; that a report can be read as the shape, its constraint sees to. */
type Missing<Report extends Shape, Shape> = Exclude<keyof Shape, keyof Report>;
type Nothing<Left extends Record<string, never>> = Left;

export type Ties = Nothing<{
  role: Missing<Role, RoleRead>;
  automationReport: Missing<AutomationReport, read.AutomationReport>;
  webhookReport: Missing<WebhookReport, read.WebhookReport>;
  deliveryReport: Missing<DeliveryReport, read.DeliveryReport>;
  testReport: Missing<TestReport, read.TestReport>;
  setReport: Missing<SetReport, read.SetReport>;
  rotationReport: Missing<RotationReport, read.RotationReport>;
  authKeyReport: Missing<AuthKeyReport, read.AuthKeyReport>;
  authKeyRotationReport: Missing<AuthKeyRotationReport, read.AuthKeyRotationReport>;
}>;
