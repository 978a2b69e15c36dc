/** What an audited action is about, by the first word of its path or of its command. */

export const auditKinds = [
  "runs",
  "syncs",
  "schedules",
  "automations",
  "credentials",
  "authkeys",
  "freezes",
  "webhooks",
  "other",
] as const;

export type AuditKind = (typeof auditKinds)[number];

const kindOfWord: Readonly<Record<string, AuditKind>> = {
  apply: "runs",
  plans: "runs",
  runs: "runs",
  sims: "syncs",
  syncs: "syncs",
  hooks: "schedules",
  schedules: "schedules",
  automations: "automations",
  credentials: "credentials",
  rotations: "credentials",
  authkeys: "authkeys",
  freeze: "freezes",
  deliveries: "webhooks",
  webhooks: "webhooks",
};

/** @param action `POST /v1/runs/:runId/cancel`, `simfleet runs cancel` */
export function auditKindOf(action: string): AuditKind {
  const word = /^(?:simfleet |[A-Z]+ \/(?:v1\/)?)([a-z]+)/.exec(action)?.[1] ?? "";
  return Object.hasOwn(kindOfWord, word) ? (kindOfWord[word] ?? "other") : "other";
}
