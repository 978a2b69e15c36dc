/** The texts of the page Credentials. */
import { counted } from "../pure/format.ts";

export const credentialsText = {
  hint: "Credential Sets and AuthKeys, their age and use. Secrets are never shown.",
  lastUsed: "Last used",
  neverUsed: "never, or unknown",
  unknown: "unknown",
  rotate: "Rotate",
  referencedBy: "Referenced by",
  notReported: "not reported by this deployment",
  noReferences: "nothing",
  moreReferences: (count: number) => ` and ${counted(count, "other")}`,
} as const;

export const rotationsText = {
  title: "Rotations",
  failed: "The rotations could not be loaded",
  reading: "the rotations",
  platformUnknown: (profile: string, reason: string) =>
    `The Credential Sets of ${profile} could not be loaded: ${reason}`,
  none: "No rotation is configured. Add one to the section rotations of the configuration, as described in docs/credentials.md.",
  command: "simfleet credentials rotate NAME",
  rotation: (name: string) => `Rotation ${name}`,
  never: "not rotated yet",
  set: "Set",
  noSet: "none yet",
  secretSince: "Secret created",
  next: "Next",
  step: (step: number, steps: number, word: string | undefined) => `Step ${step} of ${steps}: ${word}`,
  steps: {
    planned: "planned",
    generated: "new secret generated",
    "handed-over": "delivered to its sinks",
    created: "sent to the platform",
    updated: "sent to the platform",
    repointed: "groups use the new set",
    done: "old secret removed",
  } as Readonly<Record<string, string>>,
  rotateTitle: (name: string) => `Rotate ${name}?`,
  rotateWhat: (set: string, profile: string) =>
    `A new secret replaces the one in ${set} of the profile ${profile}. It is delivered to its sinks first, then to the platform.`,
  newSet: "a new Credential Set",
  rotating: (name: string) => `Rotation of ${name} started.`,
  confirm: "Confirm",
  confirmTitle: (set: string | null) => `Is ${set ?? "the old set"} no longer referenced?`,
  confirmWhat: (set: string | null) =>
    `After a grace period without use, ${set ?? "the old Credential Set"} is deleted. Anything that still uses it then stops working.`,
  confirmYes: "Not referenced",
  confirmed: (name: string) => `The rotation ${name} continues.`,
} as const;

export const authKeysText = {
  title: "AuthKeys",
  failed: "The AuthKeys could not be loaded",
  reading: "the AuthKeys from the platform",
  none: "The user has no AuthKey.",
  command: "simfleet authkeys list",
  authKey: "AuthKey",
  created: "Created",
  configured: "Configured",
  notConfigured: "no",
  usedBy: "Used by",
  noWorker: "no worker",
  rotation: "Rotation",
  ended: "ended",
  inUse: "the AuthKey in use",
  rotateTitle: (key: string) => `Rotate ${key}?`,
  rotateWhat: (key: string, profile: string) =>
    `A new AuthKey replaces it for the profile ${profile}. Runs continue meanwhile. ${key} is revoked once no process uses it.`,
  rotateYes: "Rotate the AuthKey",
  rotating: "Rotation of the AuthKey started.",
} as const;

export const setsText = {
  title: "Credential Sets",
  failed: "The Credential Sets could not be loaded",
  reading: "the sets from the platform",
  none: "The account has no Credential Set.",
  command: "simfleet credentials list",
  set: "Set",
  secretSince: "Secret created",
  rotation: "Rotation",
} as const;
