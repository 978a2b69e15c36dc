/**
 * The only place where a key is spelled. All keys begin with one prefix, so that an ACL user can be kept to it and a
 * test can have a Redis of its own inside a shared one.
 */
export class Keys {
  readonly prefix: string;

  constructor(prefix = "simfleet") {
    this.prefix = prefix;
  }

  /** Hash: what is known of one platform quota. */
  bucket(bucket: string): string {
    return `${this.prefix}:bucket:${bucket}`;
  }

  /** Hash: permits in flight, id to grant. */
  permits(bucket: string): string {
    return `${this.prefix}:bucket:${bucket}:permits`;
  }

  /** Hash: processes that wait for permits, to how many and since when. */
  waiters(bucket: string): string {
    return `${this.prefix}:bucket:${bucket}:waiters`;
  }

  /** Set: the names of all buckets. */
  buckets(): string {
    return `${this.prefix}:buckets`;
  }

  /** String: the pace of one run that asked for a rate of its own. */
  pace(id: string): string {
    return `${this.prefix}:pace:${id}`;
  }

  /** Sorted set: run ids by the time of their making. */
  runs(): string {
    return `${this.prefix}:runs`;
  }

  /** Hash: one run's head and tally. */
  run(runId: string): string {
    return `${this.prefix}:run:${runId}`;
  }

  /** Hash that expires: segment number to the packed input rows of a run that is being submitted. */
  runDraft(draftId: string): string {
    return `${this.prefix}:draft:${draftId}`;
  }

  /** Hash: segment number to its packed input rows. */
  runInput(runId: string): string {
    return `${this.prefix}:run:${runId}:input`;
  }

  /** Hash that expires: who works on rows of the run, and until when that is believed. */
  runLeases(runId: string): string {
    return `${this.prefix}:run:${runId}:hands`;
  }

  /** Hash: segment number to its packed outcomes, once the segment is finished. */
  runFinished(runId: string): string {
    return `${this.prefix}:run:${runId}:finished`;
  }

  /** Hash: row to its settled outcome, of a segment under way. */
  segmentOutcomes(runId: string, segment: number): string {
    return `${this.prefix}:run:${runId}:segment:${segment}`;
  }

  /** Hash: row to the record of its tries so far, of a segment under way. */
  segmentTries(runId: string, segment: number): string {
    return `${this.prefix}:run:${runId}:segment:${segment}:tries`;
  }

  /** Hash: SIM to what is known of it. */
  sims(profile: string): string {
    return `${this.prefix}:sims:${profile}`;
  }

  /** Hash: how many SIMs are known and gone, the next ordinal, and what the last whole sync kept. */
  simsHead(profile: string): string {
    return `${this.prefix}:sims:${profile}:head`;
  }

  /** String: the keys of the SIMs of one chunk, in the order of their ordinals. Without a chunk, the prefix of all. */
  simsKeyOrder(profile: string, chunk?: number): string {
    return `${this.prefix}:sims:${profile}:roll:${chunk ?? ""}`;
  }

  /** String: the signatures of one chunk. Without a chunk, the prefix of all. */
  simsSignatures(profile: string, chunk?: number): string {
    return `${this.prefix}:sims:${profile}:signs:${chunk ?? ""}`;
  }

  /** String: the digests of one chunk. Without a chunk, the prefix of all. */
  simsDigests(profile: string, chunk?: number): string {
    return `${this.prefix}:sims:${profile}:digests:${chunk ?? ""}`;
  }

  /** Hash: value of a field with few values to its code. */
  simsCodes(profile: string): string {
    return `${this.prefix}:sims:${profile}:codes`;
  }

  /** Hash: field to its column, and value of a column to its code (register-columns.lua). */
  simsColumns(profile: string): string {
    return `${this.prefix}:sims:${profile}:columns`;
  }

  /** Bitmap: ordinals of the SIMs that the sync under way has seen. */
  simsSeen(profile: string): string {
    return `${this.prefix}:sims:${profile}:seen`;
  }

  /** Hash: SIM to the run that is just giving it a class, and the class. */
  simsClaims(profile: string): string {
    return `${this.prefix}:sims:${profile}:claims`;
  }

  /** Hash: the sync under way, or how the last one went. */
  sync(profile: string): string {
    return `${this.prefix}:sims:${profile}:sync`;
  }

  /** Hash: the rotation of this name that is under way, or how the last one went. */
  rotation(name: string): string {
    return `${this.prefix}:rotation:${name}`;
  }

  /** Set: names of the rotations of a profile that were ever begun. */
  rotations(profile: string): string {
    return `${this.prefix}:rotations:${profile}`;
  }

  /** Hash: the rotation of the profile's AuthKey that is under way, or how the last one went. */
  authKeyRotation(profile: string): string {
    return `${this.prefix}:authkeys:${profile}:rotation`;
  }

  /** Hash: live process to the AuthKey that it uses, and until when that is believed. */
  authKeyUsers(profile: string): string {
    return `${this.prefix}:authkeys:${profile}:users`;
  }

  /** Hash: what a schedule waits for, has under way, and how it went last. */
  schedule(name: string): string {
    return `${this.prefix}:schedule:${name}`;
  }

  /** String: the freeze that a person has ordered, as JSON; not there when there is none. */
  freeze(): string {
    return `${this.prefix}:freeze`;
  }

  /** Hash: an automation's state, and what it has done. */
  automation(name: string): string {
    return `${this.prefix}:automation:${name}`;
  }

  /** String that lives a day: what an automation has begun for an event. */
  automationClaim(name: string, eventId: string): string {
    return `${this.prefix}:automation:${name}:event:${eventId}`;
  }

  /** String that lives a day: SIMs that an automation has changed in this hour. */
  automationRate(name: string, hour: number): string {
    return `${this.prefix}:automation:${name}:hour:${hour}`;
  }

  /** String that lives a month: the automations that led to a run or sync, as JSON. */
  automationChain(cause: string): string {
    return `${this.prefix}:automation-chain:${cause}`;
  }

  /** String that lives a day: a message of this id has triggered the schedule. */
  triggered(schedule: string, messageId: string): string {
    return `${this.prefix}:schedule:${schedule}:message:${messageId}`;
  }

  /** Stream: the event feed of all profiles. */
  events(): string {
    return `${this.prefix}:events`;
  }

  /** String that lives a month: the event of this mark was told. */
  emittedOnce(mark: string): string {
    return `${this.prefix}:events:told:${mark}`;
  }

  /** Hash: name of a consumer of the feed to the id of the last event that it has handled. */
  feedPlaces(): string {
    return `${this.prefix}:events:places`;
  }

  /** String that lives a few seconds: the process that reads the feed for this consumer. */
  feedLease(consumer: string): string {
    return `${this.prefix}:events:lease:${consumer}`;
  }

  /** Hash: whether a webhook is stopped, and why; how many messages had to make room. */
  webhook(name: string): string {
    return `${this.prefix}:webhook:${name}`;
  }

  /** Sorted set, all of one score, so by name: places of a webhook's deliveries, the oldest first. */
  deliveries(webhook: string): string {
    return `${this.prefix}:webhook:${webhook}:deliveries`;
  }

  /** Sorted set: places of deliveries that are not over, by the instant of their next try. */
  deliveriesPending(webhook: string): string {
    return `${this.prefix}:webhook:${webhook}:pending`;
  }

  /** Hash: one delivery. Without a place, the prefix of all. */
  delivery(webhook: string, place = ""): string {
    return `${this.prefix}:webhook:${webhook}:delivery:${place}`;
  }

  /** Hash that lives a day: what became of the request that an `Idempotency-Key` belongs to. */
  idempotency(id: string): string {
    return `${this.prefix}:idempotency:${id}`;
  }

  /** Stream: who changed what. */
  audit(): string {
    return `${this.prefix}:audit`;
  }

  /** Sorted set: instant of an entry of `audit` to its id and how the change ended. */
  auditResults(): string {
    return `${this.prefix}:audit:results`;
  }

  /** Sorted set: instant to how the fleet was made up. */
  fleetHistory(profile: string): string {
    return `${this.prefix}:sims:${profile}:history`;
  }

  /** Sorted set that lives a few seconds: processes that work on this queue, by the instant until which they count. */
  liveWorkers(queue: string): string {
    return `${this.prefix}:workers:${queue}`;
  }

  /** Set: names of the queues that were ever opened. */
  queueNames(): string {
    return `${this.prefix}:queues`;
  }

  /** Prefix of all of BullMQ's own keys. */
  queues(): string {
    return `${this.prefix}:queue`;
  }
}
