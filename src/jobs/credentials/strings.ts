/** The texts of the commands of Credential Sets and their rotation. */

export const credentialsSummary = "list Credential Sets and rotate their secrets";

/** The commands `simfleet credentials …`. */
export const credentialsStrings = {
  list: "list the account's Credential Sets: age, last use, references",
  none: "The account has no Credential Set.",
  rotation: "name of the rotation in the configuration",
  confirm: "confirm that the old set is no longer referenced; its grace period then starts",
  confirmNeedsWorker: (name: string) =>
    `No worker is running: run simfleet worker, or resume with simfleet credentials rotate ${name}`,
  status: "list rotations: state, age of the secret, last use, next step, references",
  noRotations: "No rotations. Add them under `rotations` in the configuration (docs/credentials.md).",
  unreadable: (profile: string, reason: string) => `The Credential Sets of ${profile} could not be read: ${reason}`,
  headings: {
    lastUsed: "last used",
    referencedBy: "referenced by",
    rotation: "rotation",
    set: "set",
    next: "next",
  },
  unknownReferences: "unknown",
  noReferences: "nothing",
  moreReferences: (places: string, more: number) => `${places} and ${more} more`,
} as const;

export const rotateStrings = {
  description:
    "rotate a secret or resume its rotation; returns when it is done or has to wait for its grace period or a confirmation",
  otherProfile: (name: string, profile: string, named: string) =>
    `the rotation ${name} belongs to the profile ${profile}, not to ${named}`,
  successorQuestion: (set: string) => `Create a successor of ${set} and deliver it to its sinks?`,
  secretQuestion: (set: string) => `Create a new secret for ${set} and deliver it to its sinks?`,
  resuming: (startedAt: string) => `Resuming the rotation of ${startedAt}.`,
  detachedNeedsWorker: "No worker is running: the rotation continues with the next one (simfleet worker)",
  waitNeedsWorker: (name: string) =>
    `No worker is running: run simfleet worker, or resume later with simfleet credentials rotate ${name}`,
  leaving: (name: string) => `Nothing is lost. Resume with: simfleet credentials rotate ${name}`,
} as const;

/** The status of a rotation, and what it waits for. */
export const rotationStrings = {
  never: (name: string) => `${name} has not been rotated yet.`,
  done: (name: string, set: string) => `${name} was rotated: ${set} has the new secret.`,
  theSet: "the set",
  failed: (name: string, reason: string) => `The rotation ${name} failed, and the old secret stays in use: ${reason}.`,
  unknownReason: "unknown reason",
  delivered: (sinks: readonly string[]) => ` These already have the new value: ${sinks.join(", ")}.`,
  inProgress: (name: string, nextStep: string, nextAt: string | null) =>
    `The rotation ${name} is in progress. Next step: ${nextStep}${nextAt === null ? "" : `, at ${nextAt}`}.`,
  inGrace: (until: string | null) =>
    `The new secret is active. The old set will be deleted${until === null ? "" : ` after ${until}`} if unused.`,
  actionNeeded: (action: string) => `Action needed: ${action}.`,
  blocked: (reason: string) => `The rotation continues automatically when nothing blocks it: ${reason}.`,
  working: "It is in progress.",
  nextAttempt: (at: string | null, reason: string) =>
    `The next attempt is${at === null ? "" : ` at ${at}`}: ${reason}.`,
} as const;
