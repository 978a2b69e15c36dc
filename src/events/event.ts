/**
 * The catalogue of events: what can happen, which fields tell of it, and when it is told. An event is written in the same
 * step as the change that it tells of, so that neither is ever there without the other.
 */

const ofAuthKey = { authKeyId: "the AuthKey", cause: "the rotation" } as const;
const ofRotation = { rotation: "its name", cause: "id of this turn of it" } as const;

export const eventCatalogue = {
  "sim.added": {
    when: "A sync lists a SIM that was not known. The first sync of a profile tells of none: what it finds was there before.",
    fields: { sim: "its key", cause: "the sync, or the run whose answer showed it", by: "`outside` or `run`" },
  },
  "sim.changed": {
    when: "A field of a SIM is seen with another value: one event for each field.",
    fields: {
      sim: "its key",
      field: "name of the field, `tags.site` for a member",
      before: "value before; absent where there was none",
      after: "value now; absent where there is none",
      by: "`run` for what one of our runs changed, `outside` for everything else",
      cause: "the run, or the sync that saw it",
    },
  },
  "sim.gone": {
    when: "A sync has read the whole list and the SIM is no longer in it.",
    fields: { sim: "its key", cause: "the sync", by: "`outside`" },
  },
  "sim.returned": {
    when: "A SIM that was gone is listed again.",
    fields: { sim: "its key", cause: "the sync, or the run whose answer showed it", by: "`outside` or `run`" },
  },
  "sync.completed": {
    when: "A sync has read the whole list, and what is gone is marked.",
    fields: {
      cause: "the sync",
      sims: "SIMs listed",
      added: "of them not known before",
      changed: "of them with a changed field",
      returned: "of them that were gone",
      gone: "SIMs no longer listed",
    },
  },
  "sync.failed": {
    when: "A sync ended without having read the whole list, and the next begins anew.",
    fields: { cause: "the sync", reason: "why" },
  },
  "credential.handed-over": {
    when: "A sink has taken the new secret of a rotation; the platform does not have it yet.",
    fields: { ...ofRotation, sink: "kind and place of the sink" },
  },
  "credential.created": {
    when: "The platform has the new secret: as a new Credential Set, or in the old one.",
    fields: { ...ofRotation, credentialsId: "the set", strategy: "`successor` or `in-place`" },
  },
  "credential.repointed": {
    when: "Nothing that simfleet can change names the old Credential Set any more; its grace begins.",
    fields: {
      ...ofRotation,
      oldId: "the old set",
      credentialsId: "the new set",
      groups: "groups that were changed, with commas between; empty when there were none, or a person did it",
    },
  },
  "credential.unconfirmed": {
    when: "A person has to see to what names the old Credential Set, since simfleet cannot.",
    fields: { ...ofRotation, oldId: "the old set", credentialsId: "the new set", reason: "what there is to do" },
  },
  "credential.in-use": {
    when: "The old Credential Set was used after everything named the new one; its grace begins again.",
    fields: { ...ofRotation, oldId: "the old set", lastUsedAt: "its last use, ISO 8601" },
  },
  "credential.unused": {
    when: "The old Credential Set was out of use for the whole grace and nothing names it: its time is over.",
    fields: { ...ofRotation, oldId: "the old set" },
  },
  "credential.left-behind": {
    when: "A Credential Set that is no longer wanted could not be deleted: a person has to.",
    fields: { ...ofRotation, credentialsId: "the set", reason: "why" },
  },
  "credential.rotated": {
    when: "A rotation is over: the new secret is in use and the old one is gone, or left to a person.",
    fields: {
      ...ofRotation,
      credentialsId: "the set that holds now",
      oldId: "the old set; absent where there was none",
    },
  },
  "credential.failed": {
    when: "A rotation could not go on and was taken back; the old secret holds.",
    fields: {
      ...ofRotation,
      reason: "why",
      sinks: "sinks that already have the new value, with commas between; empty when none has",
    },
  },
  "credential.expiring": {
    when: "The secret of a rotation is older than its `maxAgeDays`.",
    fields: { rotation: "its name", credentialsId: "the set", since: "when it got its secret, ISO 8601" },
  },
  "secret.taken-up": {
    when: "A file of a profile's credentials has changed, and a process authenticates with what it holds now.",
    fields: { worker: "the process" },
  },
  "secret.kept": {
    when: "A file of a profile's credentials has changed, and cannot be taken up: a process stays with what it had.",
    fields: { worker: "the process", reason: "what is wrong with it" },
  },
  "authkey.refused": {
    when: "The platform does not accept an AuthKey of the configuration; the next one is used, where there is one. Told once by each process until the AuthKey is accepted.",
    fields: { authKeyId: "the AuthKey", worker: "the process", reason: "the platform's words" },
  },
  "authkey.created": {
    when: "A rotation has created an AuthKey; its secret lies sealed.",
    fields: ofAuthKey,
  },
  "authkey.proved": {
    when: "The platform has accepted the new AuthKey of a rotation.",
    fields: ofAuthKey,
  },
  "authkey.handed-over": {
    when: "A sink has taken the new AuthKey of a rotation.",
    fields: { ...ofAuthKey, sink: "kind and place of the sink" },
  },
  "authkey.revoked": {
    when: "A rotation has revoked an AuthKey, which no live process uses.",
    fields: {
      ...ofAuthKey,
      reason:
        "`rotated`: another took its place; `replaced`: a person named it to make room; `lost`: the answer with its secret never came; `taken-back`: the rotation failed",
    },
  },
  "authkey.rotated": {
    when: "A rotation is over: the new AuthKey is in use and the old one is gone.",
    fields: { authKeyId: "the new AuthKey", oldId: "the old one", cause: "the rotation" },
  },
  "authkey.failed": {
    when: "A rotation could not go on and was taken back: the old AuthKey stays in use.",
    fields: { authKeyId: "the AuthKey that stays", cause: "the rotation", reason: "why" },
  },
} as const satisfies Record<string, { readonly when: string; readonly fields: Readonly<Record<string, string>> }>;

export type EventType = keyof typeof eventCatalogue;

export const eventTypes = Object.keys(eventCatalogue) as EventType[];

/** Something that happened. */
export interface Event {
  /** Grows from event to event, and names one for good: a consumer that saw it before sees a repeat. */
  readonly id: string;
  readonly type: EventType;
  readonly atMs: number;
  readonly profile: string;
  /** The fields of the catalogue, each as text. */
  readonly fields: Readonly<Record<string, string>>;
}
