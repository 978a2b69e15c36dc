/**
 * Defines all Redis keys. They share one prefix, so that an ACL user can be restricted to it and each test has its own
 * namespace in a shared Redis. The prefix is a hash tag: a Redis Cluster keeps all keys in one slot, so scripts can change
 * several of them and build keys from a common prefix (decision 010).
 */
export class Keys {
  readonly prefix: string;

  /** @param prefix begins with a hash tag, `{name}` */
  constructor(prefix = "{simfleet}") {
    if (!/^\{[^{}]+\}/.test(prefix)) throw new Error(`The key prefix ${prefix} does not begin with a hash tag`);
    this.prefix = prefix;
  }

  /** String: version of what is stored (data-version.ts). */
  dataVersion(): string {
    return `${this.prefix}:data-version`;
  }

  /** Hash: state of one platform quota. */
  bucket(bucket: string): string {
    return `${this.prefix}:bucket:${bucket}`;
  }

  /** Hash: permits in flight, id to grant. */
  permits(bucket: string): string {
    return `${this.prefix}:bucket:${bucket}:permits`;
  }

  /** Hash: waiting processes to their number of callers and start of waiting. */
  waiters(bucket: string): string {
    return `${this.prefix}:bucket:${bucket}:waiters`;
  }

  /** Set: the names of all buckets. */
  buckets(): string {
    return `${this.prefix}:buckets`;
  }

  /** Hash, expires after a day: the policies that responses have shown for a bucket, name to JSON. */
  policies(bucket: string): string {
    return `${this.prefix}:bucket:${bucket}:policies`;
  }

  /** String: the pace of one run that asked for a rate of its own. */
  pace(id: string): string {
    return `${this.prefix}:pace:${id}`;
  }

  /** Sorted set: run ids by creation time. */
  runs(): string {
    return `${this.prefix}:runs`;
  }

  /** Hash: one run's head and tally. */
  run(runId: string): string {
    return `${this.prefix}:run:${runId}`;
  }

  /** Hash with expiry: segment number to packed input rows of a run that is being submitted. */
  runDraft(draftId: string): string {
    return `${this.prefix}:draft:${draftId}`;
  }

  /** Hash: segment number to packed input rows. */
  runInput(runId: string): string {
    return `${this.prefix}:run:${runId}:input`;
  }

  /** Hash with expiry: leases of the workers on a run to their expiry. */
  runLeases(runId: string): string {
    return `${this.prefix}:run:${runId}:hands`;
  }

  /** Hash: segment number to packed outcomes, once the segment is finished. */
  runFinished(runId: string): string {
    return `${this.prefix}:run:${runId}:finished`;
  }

  /** Hash: row to its settled outcome, for a segment in progress. */
  segmentOutcomes(runId: string, segment: number): string {
    return `${this.prefix}:run:${runId}:segment:${segment}`;
  }

  /** Hash: row to its attempts so far, for a segment in progress. */
  segmentTries(runId: string, segment: number): string {
    return `${this.prefix}:run:${runId}:segment:${segment}:tries`;
  }

  /** Hash: SIM to its stored record. */
  sims(profile: string): string {
    return `${this.prefix}:sims:${profile}`;
  }

  /** Hash: number of known and gone SIMs, the next ordinal, and the fields stored by the last complete sync. */
  simsHead(profile: string): string {
    return `${this.prefix}:sims:${profile}:head`;
  }

  /** String: SIM keys of one chunk in ordinal order. Without a chunk, the common prefix. */
  simsKeyOrder(profile: string, chunk?: number): string {
    return `${this.prefix}:sims:${profile}:roll:${chunk ?? ""}`;
  }

  /** String: signatures of one chunk. Without a chunk, the common prefix. */
  simsSignatures(profile: string, chunk?: number): string {
    return `${this.prefix}:sims:${profile}:signs:${chunk ?? ""}`;
  }

  /** String: digests of one chunk. Without a chunk, the common prefix. */
  simsDigests(profile: string, chunk?: number): string {
    return `${this.prefix}:sims:${profile}:digests:${chunk ?? ""}`;
  }

  /** Hash: value of a wide column to its code. */
  simsCodes(profile: string): string {
    return `${this.prefix}:sims:${profile}:codes`;
  }

  /** Hash: field to its column, and value of a column to its code (register-columns.lua). */
  simsColumns(profile: string): string {
    return `${this.prefix}:sims:${profile}:columns`;
  }

  /** Bitmap: ordinals of the SIMs that the current sync has seen. */
  simsSeen(profile: string): string {
    return `${this.prefix}:sims:${profile}:seen`;
  }

  /** Hash: SIM to the run that is currently changing its class, and the class. */
  simsClaims(profile: string): string {
    return `${this.prefix}:sims:${profile}:claims`;
  }

  /** Hash: the current or last sync. */
  sync(profile: string): string {
    return `${this.prefix}:sims:${profile}:sync`;
  }

  /** Hash: the current or last rotation with this name. */
  rotation(name: string): string {
    return `${this.prefix}:rotation:${name}`;
  }

  /** Hash: when the age of a rotation's secret is checked next, and which secret was reported as too old. */
  rotationAge(name: string): string {
    return `${this.prefix}:rotation:${name}:age`;
  }

  /** Set: names of all rotations that a profile ever began. */
  rotations(profile: string): string {
    return `${this.prefix}:rotations:${profile}`;
  }

  /** Hash: the current or last rotation of the profile's AuthKey. */
  authKeyRotation(profile: string): string {
    return `${this.prefix}:authkeys:${profile}:rotation`;
  }

  /** Hash: process to the expiry of its entry and the AuthKey that it uses. */
  authKeyUsers(profile: string): string {
    return `${this.prefix}:authkeys:${profile}:users`;
  }

  /** Sorted set: profile to the time when a worker had it in its configuration last. */
  profiles(): string {
    return `${this.prefix}:profiles`;
  }

  /** Hash: a schedule's next time, its task in progress, and its last result. */
  schedule(name: string): string {
    return `${this.prefix}:schedule:${name}`;
  }

  /** String: the manual freeze, as JSON; absent if there is none. */
  freeze(): string {
    return `${this.prefix}:freeze`;
  }

  /** Hash: an automation's state and counters. */
  automation(name: string): string {
    return `${this.prefix}:automation:${name}`;
  }

  /** String, expires after a day: the task that an automation started for an event. */
  automationClaim(name: string, eventId: string): string {
    return `${this.prefix}:automation:${name}:event:${eventId}`;
  }

  /** String, expires after a day: number of SIMs that an automation changed in this hour. */
  automationRate(name: string, hour: number): string {
    return `${this.prefix}:automation:${name}:hour:${hour}`;
  }

  /** String, expires after a month: the automations that caused a run or sync, as JSON. */
  automationChain(cause: string): string {
    return `${this.prefix}:automation-chain:${cause}`;
  }

  /** String, expires after a day: a message with this id has triggered the schedule. */
  triggered(schedule: string, messageId: string): string {
    return `${this.prefix}:schedule:${schedule}:message:${messageId}`;
  }

  /** Stream: the events of all profiles. */
  events(): string {
    return `${this.prefix}:events`;
  }

  /** String, expires after a month: the event with this mark was emitted. */
  emittedOnce(mark: string): string {
    return `${this.prefix}:events:told:${mark}`;
  }

  /** Hash: consumer of the event stream to the id of its last handled event. */
  feedPlaces(): string {
    return `${this.prefix}:events:places`;
  }

  /** String, expires after a few seconds: lease of the process that reads for this consumer. */
  feedLease(consumer: string): string {
    return `${this.prefix}:events:lease:${consumer}`;
  }

  /** Hash: whether a webhook is stopped, and why; number of dropped deliveries. */
  webhook(name: string): string {
    return `${this.prefix}:webhook:${name}`;
  }

  /** Sorted set with equal scores, so sorted by member: places of a webhook's deliveries, oldest first. */
  deliveries(webhook: string): string {
    return `${this.prefix}:webhook:${webhook}:deliveries`;
  }

  /** Sorted set: places of pending deliveries by the time of their next attempt. */
  deliveriesPending(webhook: string): string {
    return `${this.prefix}:webhook:${webhook}:pending`;
  }

  /** Hash: one delivery. Without a place, the common prefix. */
  delivery(webhook: string, place = ""): string {
    return `${this.prefix}:webhook:${webhook}:delivery:${place}`;
  }

  /** Hash, expires after a day: the request of an `Idempotency-Key` and its answer. */
  idempotency(id: string): string {
    return `${this.prefix}:idempotency:${id}`;
  }

  /** Stream: audit log. */
  audit(): string {
    return `${this.prefix}:audit`;
  }

  /** Sorted set: id and result of `audit` entries, by the time of the entry. */
  auditResults(): string {
    return `${this.prefix}:audit:results`;
  }

  /** Never exists: to try whether Redis accepts writes. */
  probe(): string {
    return `${this.prefix}:probe`;
  }

  /** String, expires within an hour: a worker has removed old data. */
  swept(): string {
    return `${this.prefix}:storage:swept`;
  }

  /** String: when a worker last removed old data, ms of Redis's clock. */
  sweptAt(): string {
    return `${this.prefix}:storage:swept-at`;
  }

  /** Sorted set: counts of the fleet, by time. */
  fleetHistory(profile: string): string {
    return `${this.prefix}:sims:${profile}:history`;
  }

  /** Hash, expires after a day: processes that have begun a piece of work and not ended it, to the time of their start. */
  workMarks(work: string): string {
    return `${this.prefix}:work:${work}`;
  }

  /** Sorted set, expires after a few seconds: live workers of a queue, by the expiry of their entry. */
  liveWorkers(queue: string): string {
    return `${this.prefix}:workers:${queue}`;
  }

  /** Set: names of all queues that were ever opened. */
  queueNames(): string {
    return `${this.prefix}:queues`;
  }

  /** Prefix of BullMQ's own keys. */
  queues(): string {
    return `${this.prefix}:queue`;
  }
}
