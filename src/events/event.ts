/**
 * The catalog of events: which events exist, their fields, and when they are emitted. An event is written in the same step
 * as the change that it reports, so neither ever exists without the other.
 */

import type { FieldValue } from "#fleet/sim/field-value.ts";

const ofAuthKey = { authKeyId: "the AuthKey", cause: "the rotation", by: "who requested the rotation" } as const;
const ofDelivery = {
  webhook: "its name",
  delivery: "the message",
  event: "type of the event in the message",
} as const;
const ofRotation = { rotation: "its name", cause: "ID of this rotation", by: "who requested it" } as const;

const ofRun = {
  run: "the run",
  name: "its name",
  state: "its state now",
  total: "total number of rows",
  done: "rows done",
  skipped: "rows skipped",
  rejected: "rows rejected",
  failed: "rows that failed",
  unknown: "rows sent once, whose response was lost and which are not sent again",
  cancelled: "rows without an outcome when the run was cancelled or aborted",
  pending: "rows without an outcome",
  reason: "why, if known",
} as const;
const ofFiring = {
  schedule: "its name",
  firing: "ID of this execution",
  job: "its task, such as `sync`",
  due: "when it was due, ISO 8601",
} as const;
const ofFile = { file: "its name", run: "ID of its run, also if the run was not created" } as const;
const ofRunWithActor = { ...ofRun, by: "who did it, if known" } as const;

/** When an event is emitted, and what each of its fields holds. */
export interface EventFacts {
  readonly when: string;
  readonly fields: Readonly<Record<string, string>>;
}

export const eventCatalogue = {
  "run.submitted": { when: "A run was submitted; its rows will be processed.", fields: ofRunWithActor },
  "run.awaiting-approval": {
    when: "A submitted run waits for approval by someone else: because of its size, because its operation is dangerous, or because nobody could confirm it.",
    fields: ofRunWithActor,
  },
  "run.approved": { when: "A person approved a run, and it starts.", fields: ofRunWithActor },
  "run.paused": { when: "A run was paused; calls in flight are completed.", fields: ofRunWithActor },
  "run.resumed": { when: "A paused run was resumed.", fields: ofRunWithActor },
  "run.stalled": {
    when: "A running run has made no progress for 10 s or more because the platform returns no usable response; a quota that is used up does not count.",
    fields: ofRun,
  },
  "run.row-set-aside": {
    when: "A row killed three workers while each processed it alone: it ends as failed or unknown, and the other rows continue.",
    fields: ofRun,
  },
  "run.recovered": { when: "A stalled run received a usable response again.", fields: ofRun },
  "run.completed": { when: "Every row of a run has its outcome.", fields: ofRun },
  "run.aborted": {
    when: "A run stopped itself: too many of its rows failed, or a row of its canary. Calls in flight at that time still complete with their outcomes.",
    fields: ofRun,
  },
  "run.cancelled": {
    when: "A run was cancelled before all its rows had an outcome. Calls in flight at that time still complete with theirs.",
    fields: ofRunWithActor,
  },
  "sim.added": {
    when: "A sync found a new SIM. The first sync of a profile emits none.",
    fields: { sim: "its key", cause: "the sync, or the run whose answer showed it", by: "`outside` or `run`" },
  },
  "sim.changed": {
    when: "A field of a SIM has a new value: one event per field.",
    fields: {
      sim: "its key",
      field: "name of the field, `tags.site` for a member",
      before: "value before; absent where there was none",
      after: "value now; absent where there is none",
      by: "`run` if a run of simfleet changed it, `outside` for everything else",
      cause: "the run, or the sync that saw it",
    },
  },
  "sim.gone": {
    when: "A complete sync no longer lists the SIM.",
    fields: { sim: "its key", cause: "the sync", by: "`outside`" },
  },
  "sim.returned": {
    when: "A SIM with the status gone is listed again.",
    fields: { sim: "its key", cause: "the sync, or the run whose answer showed it", by: "`outside` or `run`" },
  },
  "sync.completed": {
    when: "A sync has read the whole list and marked the SIMs that are gone.",
    fields: {
      cause: "the sync",
      sims: "SIMs listed",
      added: "new SIMs",
      changed: "SIMs with a changed field",
      returned: "SIMs that were gone before",
      gone: "SIMs no longer listed",
    },
  },
  "sync.failed": {
    when: "A sync ended before it had read the whole list; the next one starts over.",
    fields: { cause: "the sync", reason: "why" },
  },
  "schedule.started": {
    when: "A schedule started its task, because it was due or triggered.",
    fields: {
      ...ofFiring,
      cause: "the run, sync or rotation that it started",
      by: "who requested it; absent when it was due",
    },
  },
  "schedule.completed": {
    when: "The task of a schedule succeeded.",
    fields: {
      ...ofFiring,
      cause: "the run, sync or rotation",
      seconds: "how long it took",
      reason: "details",
    },
  },
  "schedule.failed": {
    when: "The task of a schedule failed in whole or in part, or could not be started.",
    fields: { ...ofFiring, cause: "the run, sync or rotation, if it was started", reason: "why" },
  },
  "schedule.cancelled": {
    when: "The task of a schedule was cancelled, by a person or because the next time was due.",
    fields: { ...ofFiring, cause: "the run, sync or rotation", reason: "why" },
  },
  "schedule.skipped": {
    when: "A due time of a schedule was skipped: the previous task is still active, or changes are frozen.",
    fields: { ...ofFiring, reason: "why" },
  },
  "schedule.missed": {
    when: "Times of a schedule passed while no worker was running.",
    fields: {
      schedule: "its name",
      job: "its task, such as `sync`",
      due: "the first of them, ISO 8601",
      times: "how many; `1000` means 1000 or more",
      madeUp: "`yes`: the task runs once now, `no`: they are skipped",
    },
  },
  "schedule.late": {
    when: "A schedule started late, because its timer did not fire.",
    fields: { schedule: "its name", due: "the time, ISO 8601" },
  },
  "schedule.paused": {
    when: "A person paused a schedule, or simfleet did because three workers crashed while processing it.",
    fields: { schedule: "its name", by: "who", reason: "why; absent if a person did it" },
  },
  "schedule.resumed": { when: "A person resumed a schedule.", fields: { schedule: "its name", by: "who" } },
  "automation.started": {
    when: "An automation acted on events.",
    fields: {
      automation: "its name",
      on: "type of the first event",
      event: "ID of the first event",
      events: "how many events it acts on together",
      job: "its task, such as `sync`",
      cause: "the run, sync or rotation that it started",
    },
  },
  "automation.failed": {
    when: "An automation could not act on events, and a retry would not help.",
    fields: {
      automation: "its name",
      on: "type of the first event",
      event: "ID of the first event",
      events: "how many",
      job: "its task, such as `sync`",
      reason: "why",
    },
  },
  "automation.stopped": {
    when: "An automation stopped itself: its own changes trigger it, it would exceed its limit of events per hour, or three workers crashed while processing its events.",
    fields: { automation: "its name", event: "ID of the event that it stopped at", reason: "why" },
  },
  "automation.paused": { when: "A person paused an automation.", fields: { automation: "its name", by: "who" } },
  "automation.resumed": {
    when: "A person resumed an automation that was paused or stopped.",
    fields: { automation: "its name", by: "who" },
  },
  "file.taken": { when: "A file was picked up from the drop folder.", fields: ofFile },
  "file.done": {
    when: "Every row of a file of the drop folder is done or skipped; its results are in `done/`.",
    fields: { ...ofFile, state: "the run's state" },
  },
  "file.failed": {
    when: "The run of a file of the drop folder ended, and not all its rows are done; its results are in `failed/`.",
    fields: { ...ofFile, state: "the run's state", reason: "why" },
  },
  "file.refused": {
    when: "A file of the drop folder was rejected; it is in `failed/`.",
    fields: { ...ofFile, reason: "why" },
  },
  "freeze.started": {
    when: "A person froze all changes: runs make no calls and rotations take no steps.",
    fields: { by: "who", reason: "why", until: "when the freeze ends automatically, ISO 8601; absent if it does not" },
  },
  "freeze.ended": { when: "A person ended the freeze.", fields: { by: "who" } },
  "credential.handed-over": {
    when: "A sink accepted the new secret of a rotation; the platform does not have it yet.",
    fields: { ...ofRotation, sink: "kind and place of the sink" },
  },
  "credential.created": {
    when: "The platform has the new secret: as a new Credential Set, or in the old one.",
    fields: { ...ofRotation, credentialsId: "the set", strategy: "`successor` or `in-place`" },
  },
  "credential.repointed": {
    when: "All references that simfleet can change point to the new Credential Set; the grace period of the old one starts.",
    fields: {
      ...ofRotation,
      oldId: "the old set",
      credentialsId: "the new set",
      groups: "changed groups, comma-separated; empty if there were none or a person changed them",
    },
  },
  "credential.unconfirmed": {
    when: "A person has to replace the references to the old Credential Set, because simfleet cannot.",
    fields: { ...ofRotation, oldId: "the old set", credentialsId: "the new set", reason: "what to do" },
  },
  "credential.in-use": {
    when: "The old Credential Set was used after its references were replaced; its grace period starts again.",
    fields: { ...ofRotation, oldId: "the old set", lastUsedAt: "its last use, ISO 8601" },
  },
  "credential.unused": {
    when: "The old Credential Set was unused for the whole grace period and nothing references it.",
    fields: { ...ofRotation, oldId: "the old set" },
  },
  "credential.orphaned": {
    when: "An obsolete Credential Set could not be deleted: a person has to delete it.",
    fields: { ...ofRotation, credentialsId: "the set", reason: "why" },
  },
  "credential.rotated": {
    when: "A rotation is done: the new secret is in use and the old one is deleted, or must be deleted manually.",
    fields: {
      ...ofRotation,
      credentialsId: "the set in use now",
      oldId: "the old set; absent where there was none",
    },
  },
  "credential.failed": {
    when: "A rotation failed and was rolled back; the old secret stays in use.",
    fields: {
      ...ofRotation,
      reason: "why",
      sinks: "sinks that already have the new value, comma-separated; empty if none has",
    },
  },
  "credential.set-aside": {
    when: "Three workers crashed while processing the same step of a rotation. The rotation is stopped until someone resumes it with `simfleet credentials rotate`.",
    fields: { ...ofRotation, reason: "why" },
  },
  "credential.expiring": {
    when: "The secret of a rotation is older than its `maxAgeDays`.",
    fields: { rotation: "its name", credentialsId: "the set", since: "when it got its secret, ISO 8601" },
  },
  "secret.reloaded": {
    when: "A changed credentials file of a profile was reloaded: a process authenticates with the new credentials.",
    fields: { worker: "the process" },
  },
  "secret.kept": {
    when: "A changed credentials file of a profile cannot be loaded: a process keeps the previous credentials.",
    fields: { worker: "the process", reason: "the problem of the file" },
  },
  "authkey.refused": {
    when: "The platform rejected a configured AuthKey; the second one is used, if there is one. Emitted once by each process until the AuthKey is accepted.",
    fields: { authKeyId: "the AuthKey", worker: "the process", reason: "the platform's message" },
  },
  "authkey.created": {
    when: "A rotation created an AuthKey; its secret is stored sealed.",
    fields: ofAuthKey,
  },
  "authkey.verified": {
    when: "The platform accepted the new AuthKey of a rotation.",
    fields: ofAuthKey,
  },
  "authkey.delivered": {
    when: "A sink accepted the new AuthKey of a rotation.",
    fields: { ...ofAuthKey, sink: "kind and place of the sink" },
  },
  "authkey.revoked": {
    when: "A rotation revoked an AuthKey that no live process uses.",
    fields: {
      ...ofAuthKey,
      reason:
        "`rotated`: a new one replaced it; `replaced`: a person chose it to make room; `lost`: the response with its secret was lost; `taken-back`: the rotation failed and was rolled back",
    },
  },
  "authkey.rotated": {
    when: "A rotation is done: the new AuthKey is in use and the old one is revoked.",
    fields: { authKeyId: "the new AuthKey", oldId: "the old one", cause: "the rotation" },
  },
  "authkey.failed": {
    when: "A rotation failed and was rolled back: the old AuthKey stays in use.",
    fields: { authKeyId: "the AuthKey that stays", cause: "the rotation", reason: "why" },
  },
  "authkey.set-aside": {
    when: "Three workers crashed while processing the same step of a rotation. The rotation is stopped until someone resumes it with `simfleet authkeys rotate`.",
    fields: { ...ofAuthKey, authKeyId: "the AuthKey to be replaced", reason: "why" },
  },
  "storage.low": {
    when: "Redis uses more of its memory than `retention.warnAtPercent`; emitted once a day while it does.",
    fields: { usedBytes: "bytes in use", limitBytes: "bytes that Redis may use", percent: "share in use" },
  },
  "webhook.failed": {
    when: "A message was retried for about a day and never accepted; or three workers died while they sent it; or so many wait that the oldest are dropped, which is emitted at most once an hour. Not emitted for messages about a webhook itself.",
    fields: { ...ofDelivery, reason: "result of the last attempt" },
  },
  "webhook.stopped": {
    when: "A receiver answered 410 Gone: nothing is sent to it until `simfleet webhooks resume`.",
    fields: { ...ofDelivery, reason: "why" },
  },
} as const satisfies Record<string, EventFacts>;

export type EventType = keyof typeof eventCatalogue;

/** All types, with those of features that add their own. */
export const eventTypes = Object.keys(eventCatalogue) as EventType[];

/** Adds the events of a feature to the known types. Adding them again has no effect. */
export function addEvents(events: Readonly<Record<string, EventFacts>>): void {
  for (const type of Object.keys(events) as EventType[]) if (!eventTypes.includes(type)) eventTypes.push(type);
}

/** The type with a name, for the events that a feature has added. @throws Error if there is none */
export function eventTypeOf(name: string): EventType {
  const known = eventTypes.find((type) => type === name);
  if (known === undefined) throw new Error(`no feature declares the event ${name}`);
  return known;
}

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
