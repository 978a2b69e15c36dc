/**
 * The catalog of events: which events exist, their fields, and when they are emitted. An event is written in the same step
 * as the change that it reports, so neither ever exists without the other.
 */

import type { FieldValue } from "#fleet/sim-fields.ts";

const ofAuthKey = { authKeyId: "the AuthKey", cause: "the rotation", by: "who asked for the rotation" } as const;
const ofDelivery = {
  webhook: "its name",
  delivery: "the message",
  event: "type of the event that it tells of",
} as const;
const ofRotation = { rotation: "its name", cause: "id of this turn of it", by: "who asked for it" } as const;

const ofRun = {
  run: "the run",
  name: "its name",
  state: "its state now",
  total: "rows in all",
  done: "rows done",
  skipped: "rows skipped",
  rejected: "rows rejected",
  failed: "rows that failed",
  cancelled: "rows that had no outcome when the run was cut short",
  pending: "rows without an outcome",
  reason: "why, where there is something to say",
} as const;
const ofFiring = {
  schedule: "its name",
  firing: "id of this time of it",
  job: "its job",
  due: "when it was due, ISO 8601",
} as const;
const ofFile = { file: "its name", run: "the run that it became, or would have" } as const;
const ofRunBySomebody = { ...ofRun, by: "who did it, where that is known" } as const;

export const eventCatalogue = {
  "run.submitted": { when: "A run is in the ledger: its rows will be worked on.", fields: ofRunBySomebody },
  "run.awaiting-approval": {
    when: "A run that was submitted is so large that another person has to approve it first.",
    fields: ofRunBySomebody,
  },
  "run.approved": { when: "A person has approved a run, and it begins.", fields: ofRunBySomebody },
  "run.paused": { when: "A run is held; calls that are out end.", fields: ofRunBySomebody },
  "run.resumed": { when: "A run that was held goes on.", fields: ofRunBySomebody },
  "run.stalled": {
    when: "A running run has made no progress for 10 s or more, since the platform gives no usable answer; a spent quota does not count.",
    fields: ofRun,
  },
  "run.recovered": { when: "A stalled run has got a usable answer again.", fields: ofRun },
  "run.completed": { when: "Every row of a run has its outcome.", fields: ofRun },
  "run.aborted": {
    when: "A run has ended by itself: too many of its rows failed, or one of its canary. Calls that were out then still end with their outcomes.",
    fields: ofRun,
  },
  "run.cancelled": {
    when: "A run was ended before all its rows had an outcome. Calls that were out then still end with theirs.",
    fields: ofRunBySomebody,
  },
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
  "schedule.started": {
    when: "A schedule has begun its task, since its time has come or somebody asked for it.",
    fields: {
      ...ofFiring,
      cause: "the run, sync or rotation that it began",
      by: "who asked for it; absent where it was due",
    },
  },
  "schedule.completed": {
    when: "What a schedule began is over, and went well.",
    fields: {
      ...ofFiring,
      cause: "the run, sync or rotation",
      seconds: "how long it took",
      reason: "what there is to say",
    },
  },
  "schedule.failed": {
    when: "What a schedule began has failed in whole or in part, or could not be begun.",
    fields: { ...ofFiring, cause: "the run, sync or rotation, where it was begun", reason: "why" },
  },
  "schedule.cancelled": {
    when: "What a schedule began was cancelled: by a person, or because its next time had come.",
    fields: { ...ofFiring, cause: "the run, sync or rotation", reason: "why" },
  },
  "schedule.skipped": {
    when: "The time of a schedule has come and was left out: what it began before is still under way, or nothing may change.",
    fields: { ...ofFiring, reason: "why" },
  },
  "schedule.missed": {
    when: "Times of a schedule have passed while no worker was up.",
    fields: {
      schedule: "its name",
      job: "its job",
      due: "the first of them, ISO 8601",
      times: "how many, `1000` for that many and more",
      madeUp: "`yes`: it is done once now, `no`: they are left out",
    },
  },
  "schedule.late": {
    when: "The clock of the queue has not told of a schedule's time, although it has come; it is set again.",
    fields: { schedule: "its name", due: "the time, ISO 8601" },
  },
  "schedule.paused": { when: "A person has paused a schedule.", fields: { schedule: "its name", by: "who" } },
  "schedule.resumed": { when: "A person lets a schedule go on.", fields: { schedule: "its name", by: "who" } },
  "automation.started": {
    when: "An automation acts on events.",
    fields: {
      automation: "its name",
      on: "type of the first event",
      event: "id of the first event",
      events: "how many it acts on at once",
      job: "its job",
      cause: "the run, sync or rotation that it began",
    },
  },
  "automation.failed": {
    when: "An automation could not act on events, and would not another time.",
    fields: {
      automation: "its name",
      on: "type of the first event",
      event: "id of the first event",
      events: "how many",
      job: "its job",
      reason: "why",
    },
  },
  "automation.stopped": {
    when: "An automation has stopped itself: what it does sets it off again, or it would do more in an hour than it may.",
    fields: { automation: "its name", event: "id of the event that it stopped at", reason: "why" },
  },
  "automation.paused": { when: "A person has paused an automation.", fields: { automation: "its name", by: "who" } },
  "automation.resumed": {
    when: "A person lets an automation go on that was paused or had stopped.",
    fields: { automation: "its name", by: "who" },
  },
  "file.taken": { when: "A file has been taken from the drop folder.", fields: ofFile },
  "file.done": {
    when: "Every row of a file of the drop folder is done or skipped; its results are in `done/`.",
    fields: { ...ofFile, state: "the run's state" },
  },
  "file.failed": {
    when: "The run of a file of the drop folder is over, and not all its rows are done; its results are in `failed/`.",
    fields: { ...ofFile, state: "the run's state", reason: "why" },
  },
  "file.refused": {
    when: "A file of the drop folder cannot become a run; it lies in `failed/`.",
    fields: { ...ofFile, reason: "why" },
  },
  "changes.frozen": {
    when: "A person has frozen all changes: no call of a run and no step of a rotation goes out.",
    fields: { by: "who", reason: "why", until: "when it ends by itself, ISO 8601; absent where it does not" },
  },
  "freeze.ended": { when: "A person lets changes go on.", fields: { by: "who" } },
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
  "credential.orphaned": {
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
  "secret.reloaded": {
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
  "authkey.verified": {
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
  "webhook.failed": {
    when: "A message was tried for about a day and never taken; or so many wait that the oldest make room, which is told once an hour at most. Not told of messages that are about a webhook themselves.",
    fields: { ...ofDelivery, reason: "what came of the last try" },
  },
  "webhook.stopped": {
    when: "A receiver has answered 410 Gone: nothing more is sent to it until `simfleet webhooks resume`.",
    fields: { ...ofDelivery, reason: "why" },
  },
} as const satisfies Record<string, { readonly when: string; readonly fields: Readonly<Record<string, string>> }>;

export type EventType = keyof typeof eventCatalogue;

export const eventTypes = Object.keys(eventCatalogue) as EventType[];

/** Something that happened. */
export interface Event {
  /** Increases from event to event and is unique, so a consumer can detect duplicates. */
  readonly id: string;
  readonly type: EventType;
  readonly atMs: number;
  /** Empty if the event concerns every account. */
  readonly profile: string;
  /** The fields of the catalog, each as text. */
  readonly fields: Readonly<Record<string, string>>;
  /** With `sim.changed`: `before` and `after` as values of the platform's record, text or JSON. */
  readonly values?: Readonly<Partial<Record<"before" | "after", FieldValue>>>;
}
