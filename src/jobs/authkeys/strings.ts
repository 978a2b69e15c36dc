/** The texts of the commands of AuthKeys. */

export const authKeysSummary = "list and rotate the account's AuthKeys";

/** The commands `simfleet authkeys …`. */
export const authKeysStrings = {
  list: "list AuthKeys with their age and who uses them; never shows a secret",
  none: "The user has no AuthKey.",
  headings: { authKey: "authkey", age: "age", lastUsed: "last used" },
  ageInDays: (days: number) => `${days} d`,
  inRotation: (rotationId: string, step: string) => `The rotation ${rotationId} is in progress: ${step}`,
} as const;

export const rotateStrings = {
  description: "create an AuthKey, deliver it to its sinks, and revoke the old one once it is unused",
  replace: "revoke this AuthKey first, if the user already has two",
  wait: "wait until the old AuthKey is revoked, which can take a day",
  keyInUse: "in use",
  resuming: (authKeyId: string) => `Resuming the rotation of ${authKeyId}.`,
  question: (authKeyId: string, profile: string) => `Replace the AuthKey ${authKeyId} of ${profile}?`,
  questionWithReplace: (first: string, authKeyId: string, profile: string) =>
    `Revoke ${first}, then replace the AuthKey ${authKeyId} of ${profile}?`,
  detachedNeedsWorker:
    "No worker is running: the rotation starts with the next one (simfleet worker), or with: simfleet authkeys rotate",
  revocationNeedsWorker:
    "No worker is running: start one (simfleet worker), or revoke later with: simfleet authkeys rotate --wait",
  progress: (profile: string, step: string | null) => `AuthKey of ${profile}: ${step}`,
  stopped: "Nothing is lost, and no AuthKey in use is revoked. Resume with: simfleet authkeys rotate",
  continues: "The rotation continues in its worker. Follow it with: simfleet authkeys rotate",
  done: (newId: string | null, oldId: string | null) => `${newId} is in use, and ${oldId} is revoked.`,
  failed: (oldId: string | null, reason: string | null) =>
    `The rotation was rolled back, and ${oldId ?? "the old AuthKey"} stays in use: ${reason}`,
  revokesLater: (newId: string | null, oldId: string | null, at: string) =>
    `${newId} is in use. ${oldId ?? "The old AuthKey"} will be revoked at ${at} if it stays unused until then.`,
  inProgress: (step: string | null) => `In progress: ${step}`,
} as const;
