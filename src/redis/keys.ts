/**
 * Defines the Redis keys of what features build on; a feature makes its own with `of`. All share one prefix, so that an ACL user can be restricted to it and each test has its own
 * namespace in a shared Redis. The prefix is a hash tag: a Redis Cluster keeps all keys in one slot, so scripts can change
 * several of them and build keys from a common prefix (decision 010).
 */
export class Keys {
  readonly prefix: string;

  /** @param prefix starts with a hash tag, `{name}` */
  constructor(prefix = "{simfleet}") {
    if (!/^\{[^{}]+\}/.test(prefix)) throw new Error(`The key prefix ${prefix} does not start with a hash tag`);
    this.prefix = prefix;
  }

  /** A key of a feature, made of words and names. The first word belongs to the feature alone (its `data`). */
  of(...parts: readonly (string | number)[]): string {
    return [this.prefix, ...parts].join(":");
  }

  /** String: version of what is stored (kernel.ts). */
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

  /** List: windows that ended, the newest first (bucket-state.lua). */
  windows(bucket: string): string {
    return `${this.prefix}:bucket:${bucket}:windows`;
  }

  /** String: the ways in which the platform at an address may round its seconds (refresh-instant.lua). */
  rounding(address: string): string {
    return `${this.prefix}:rounding:${address}`;
  }

  /** Set: the names of all buckets. */
  buckets(): string {
    return `${this.prefix}:buckets`;
  }

  /** Hash: profile to the owner of the quotas that it spends, as last known. */
  quotaOwners(): string {
    return `${this.prefix}:quota-owners`;
  }

  /** String: signs the pairs that gateways issue. */
  gatewayKey(): string {
    return `${this.prefix}:gateway-key`;
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

  /** Hash with expiry: planned runs and uploads in progress, to their expiry, bytes and owner. */
  plans(): string {
    return `${this.prefix}:plans`;
  }

  /** Hash: segment number to packed input rows. */
  runInput(runId: string): string {
    return `${this.prefix}:run:${runId}:input`;
  }

  /** Hash with expiry: leases of the workers on a run to their expiry. */
  runLeases(runId: string): string {
    return `${this.prefix}:run:${runId}:hands`;
  }

  /** Set: the runs that have started; those that are over go with the next start (start-run.lua). */
  runsStarted(): string {
    return `${this.prefix}:runs:started`;
  }

  /** Set: later runs that have yet to supersede rows of this one, which makes no call until then. */
  runYields(runId: string): string {
    return `${this.prefix}:run:${runId}:yields`;
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

  /** Hash: value of an indexed field to the number of its bitmap (index.lua). */
  simsIndex(profile: string): string {
    return `${this.prefix}:sims:${profile}:index`;
  }

  /** Prefix of bitmaps of ordinals: one for each number in the index, `listed` and `gone`. */
  simsBitmaps(profile: string): string {
    return `${this.prefix}:sims:${profile}:bits:`;
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

  /** Never exists: to try whether Redis accepts writes. */
  probe(): string {
    return `${this.prefix}:probe`;
  }

  /** Sorted set: counts of the fleet, by time. */
  fleetHistory(profile: string): string {
    return `${this.prefix}:sims:${profile}:history`;
  }

  /** Hash, expires after a day: processes that have started a piece of work and not ended it, to the time of their start. */
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
