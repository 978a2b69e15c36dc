/**
 * What a worker of the dashboard's tests and pictures starts with, so that every view has something to show: tokens
 * of each role, a rotation, schedules, a freeze to come, an automation, a webhook, and the operations beyond the
 * interface. It knows nothing of the test runner.
 */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SandboxOptions } from "#sandbox/options.ts";
import type { Sandbox } from "#sandbox/server.ts";

export const tokens = {
  viewer: "sf_viewer-of-the-dashboard-0123456789",
  operator: "sf_operator-of-the-dashboard-0123456789",
  admin: "sf_admin-of-the-dashboard-0123456789",
} as const;

/** Signs the messages to the webhook. */
export const webhookSecret = "whsec_ZGFzaGJvYXJkLWRhc2hib2FyZC1kYXNoYm9hcmQ=";

export const sandboxFixtures: Partial<SandboxOptions> = { operations: "all", sims: 1_200 };

/** Over the settings that reach the sandbox. */
export const environmentFixtures = {
  SIMFLEET_DEPLOYMENT: "soracom",
  SIMFLEET_BRAND: "Svc",
  SIMFLEET_COVERAGE: "g",
  SIMFLEET_CONFIG: "simfleet.yaml",
} as const;

/** What a test has of its own. */
export interface Fixtures {
  /** Where the webhook leads; by default to the sandbox, which knows nothing of it, so that its deliveries fail. */
  readonly webhookUrl?: string;
  /** Further sections of the configuration. */
  readonly sections?: string;
}

/** Writes the configuration into the folder, and gives the sandbox what it names. @returns the configuration */
export function writeFixtures({ folder, sandbox }: { folder: string; sandbox: Sandbox }, own: Fixtures = {}): string {
  writeFileSync(join(folder, "seal-key"), Buffer.alloc(32, 9), { mode: 0o600 });
  writeFileSync(join(folder, "webhook-secret"), webhookSecret, { mode: 0o600 });
  const written = configuration(folder, { webhookUrl: `${sandbox.url}/hooks`, ...own });
  writeFileSync(join(folder, "simfleet.yaml"), written, { mode: 0o600 });
  const { credentials, groups } = sandbox.state;
  credentials.create("mqtt", { type: "psk", description: "broker of the gateways", credentials: { key: "before" } });
  credentials.create("cloud", { type: "aws-credentials", credentials: { accessKeyId: "a", secretAccessKey: "b" } });
  const [group] = groups.all;
  groups.configure(group?.groupId ?? "", "SoracomFunk", [{ key: "credentialsId", value: "mqtt" }]);
  return written;
}

function configuration(folder: string, { webhookUrl, sections = "" }: Fixtures): string {
  const lines = Object.entries(tokens).map(([role, token]) => {
    const hash = createHash("sha256").update(token).digest("hex");
    return `    the-${role}: { role: ${role}, hash: "sha256:${hash}" }`;
  });
  return `seal: { keyFile: ${join(folder, "seal-key")} }
http:
  tokens:
${lines.join("\n")}
rotations:
  mqtt:
    type: psk
    generate: { field: key, bytes: 32, encoding: base64url }
    graceSeconds: 86400
    sinks: [ { file: ${join(folder, "mqtt-psk")} } ]
schedules:
  nightly-sync: { cron: "0 3 * * *", timezone: Asia/Tokyo, job: sync }
  stadium-up: { cron: "0 8 * * 1-5", timezone: Asia/Tokyo, job: apply, where: status=active, speedClass: s1.fast, skipUnchanged: true }
freezes:
  year-end: { from: "${inDays(3)}", to: "${inDays(14)}" }
automations:
  new-sims-slow: { on: sim.added, where: speedClass!=s1.minimum, job: apply, speedClass: s1.minimum }
webhooks:
  ops: { url: "${webhookUrl}", secretFile: ${join(folder, "webhook-secret")}, events: ["run.*"], allowPrivate: true }
${sections}`;
}

function inDays(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString();
}
