/** The events of rotations of Credential Sets. */
import type { Events } from "#events/event.ts";

const ofRotation = { rotation: "its name", cause: "ID of this rotation", by: "who requested it" } as const;

export const events = {
  "credential.handed-over": {
    when: "A sink accepted the new secret of a rotation; the platform does not have it yet.",
    sentence: "The new secret of {rotation} was delivered to {sink}",
    fields: { ...ofRotation, sink: "kind and place of the sink" },
  },
  "credential.created": {
    when: "The platform has the new secret: as a new Credential Set, or in the old one.",
    sentence: "The platform has the new secret of {rotation}",
    fields: { ...ofRotation, credentialsId: "the set", strategy: "`successor` or `in-place`" },
  },
  "credential.repointed": {
    when: "All references that simfleet can change point to the new Credential Set; the grace period of the old one starts.",
    sentence: "Nothing references the old secret of {rotation} any longer",
    fields: {
      ...ofRotation,
      oldId: "the old set",
      credentialsId: "the new set",
      groups: "changed groups, comma-separated; empty if there were none or a user changed them",
    },
  },
  "credential.unconfirmed": {
    when: "Action needed: replace the references to the old Credential Set manually, because simfleet cannot.",
    sentence: "The rotation {rotation} is waiting for confirmation[: {reason}]",
    needsAttention: true,
    fields: { ...ofRotation, oldId: "the old set", credentialsId: "the new set", reason: "what to do" },
  },
  "credential.in-use": {
    when: "The old Credential Set was used after its references were replaced; its grace period starts again.",
    sentence: "The old secret of {rotation} is still in use",
    fields: { ...ofRotation, oldId: "the old set", lastUsedAt: "its last use, ISO 8601" },
  },
  "credential.unused": {
    when: "The old Credential Set was unused for the whole grace period and nothing references it.",
    sentence: "The old secret of {rotation} is unused",
    fields: { ...ofRotation, oldId: "the old set" },
  },
  "credential.orphaned": {
    when: "An obsolete Credential Set could not be deleted: a user has to delete it.",
    sentence: "The Credential Set {credentialsId} could not be deleted[: {reason}]",
    advice: "Delete it manually.",
    needsAttention: true,
    fields: { ...ofRotation, credentialsId: "the set", reason: "why" },
  },
  "credential.rotated": {
    when: "A rotation is done: the new secret is in use and the old one is deleted, or must be deleted manually.",
    sentence: "The secret of {rotation} was rotated[ by {by}]",
    fields: {
      ...ofRotation,
      credentialsId: "the set in use now",
      oldId: "the old set; absent where there was none",
    },
  },
  "credential.failed": {
    when: "A rotation failed and was rolled back; the old secret stays in use.",
    sentence: "The rotation {rotation} failed[: {reason}]",
    advice: "The old secret stays in use.[ These have the new value already: {sinks}.]",
    needsAttention: true,
    fields: {
      ...ofRotation,
      reason: "why",
      sinks: "sinks that already have the new value, comma-separated; empty if none has",
    },
  },
  "credential.quarantined": {
    when: "Three workers crashed while processing the same step of a rotation. The rotation is stopped until someone resumes it with `simfleet credentials rotate`.",
    sentence: "The rotation {rotation} was stopped[: {reason}]",
    needsAttention: true,
    fields: { ...ofRotation, reason: "why" },
  },
  "credential.expiring": {
    when: "The secret of a rotation is older than its `maxAgeDays`; emitted once a month while it is.",
    sentence: "The secret of {rotation} is due for rotation: it has been in use since {since}",
    advice: "Rotate it with: simfleet credentials rotate {rotation}",
    fields: { rotation: "its name", credentialsId: "the set", since: "when it got its secret, ISO 8601" },
  },
} as const satisfies Events;

export const eventKinds = { credential: "Credentials" } as const;

declare module "#events/event.ts" {
  interface EventTypes extends Readonly<Record<keyof typeof events, true>> {}
}
