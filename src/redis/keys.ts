/**
 * The Redis keys of what features build on; a feature makes its own with `of`. All share one prefix, to which an ACL
 * user can be restricted, and each test has its own. It is a hash tag: a Redis Cluster keeps all keys in one slot, so
 * scripts can change several of them and build keys from a common prefix (decision 010).
 */
export class Keys {
  readonly prefix: string;

  /** @param prefix starts with a hash tag, `{name}` */
  constructor(prefix = "{simfleet}") {
    if (!/^\{[^{}]+\}/.test(prefix)) throw new Error(`The key prefix ${prefix} does not start with a hash tag`);
    this.prefix = prefix;
  }

  /** A key of a feature, made of words and names. The first word belongs to the feature alone. */
  of(...parts: readonly (string | number)[]): string {
    return [this.prefix, ...parts].join(":");
  }

  /** String: version of what is stored (kernel.ts). */
  readonly dataVersion = (): string => this.of("data-version");
  /** Hash: state of one platform quota. */
  readonly bucket = (bucket: string): string => this.of("bucket", bucket);
  /** Hash: permits in flight, id to grant. */
  readonly permits = (bucket: string): string => this.of("bucket", bucket, "permits");
  /** Hash: waiting processes to their number of callers and start of waiting. */
  readonly waiters = (bucket: string): string => this.of("bucket", bucket, "waiters");
  /** List: windows that ended, the newest first (bucket-state.lua). */
  readonly windows = (bucket: string): string => this.of("bucket", bucket, "windows");
  /** String: the ways in which the platform at an address may round its seconds (refresh-instant.lua). */
  readonly rounding = (address: string): string => this.of("rounding", address);
  /** Set: the names of all buckets. */
  readonly buckets = (): string => this.of("buckets");
  /** Hash: profile to the owner of the quotas that it spends, as last known. */
  readonly quotaOwners = (): string => this.of("quota-owners");
  /** String: the pace of one run that asked for a rate of its own. */
  readonly pace = (id: string): string => this.of("pace", id);
  /** Sorted set: run ids by creation time. */
  readonly runs = (): string => this.of("runs");
  /** Hash: one run's head and tally. */
  readonly run = (runId: string): string => this.of("run", runId);
  /** Hash with expiry: segment number to packed input rows of a run that is being submitted. */
  readonly runDraft = (draftId: string): string => this.of("draft", draftId);
  /** Hash with expiry: planned runs and uploads in progress, to their expiry, bytes and owner. */
  readonly plans = (): string => this.of("plans");
  /** Hash: segment number to packed input rows. */
  readonly runInput = (runId: string): string => this.of("run", runId, "input");
  /** Hash with expiry: leases of the workers on a run to their expiry. */
  readonly runLeases = (runId: string): string => this.of("run", runId, "hands");
  /** Set: the runs that have started; those that are over go with the next start (start-run.lua). */
  readonly runsStarted = (): string => this.of("runs", "started");
  /** Set: later runs that have yet to supersede rows of this one, which makes no call until then. */
  readonly runYields = (runId: string): string => this.of("run", runId, "yields");
  /** Hash: segment number to packed outcomes, once the segment is finished. */
  readonly runFinished = (runId: string): string => this.of("run", runId, "finished");
  /** Hash: row to its settled outcome, for a segment in progress. */
  readonly segmentOutcomes = (runId: string, segment: number): string => this.of("run", runId, "segment", segment);
  /** Hash: row to its attempts so far, for a segment in progress. */
  readonly segmentTries = (runId: string, segment: number): string =>
    this.of("run", runId, "segment", segment, "tries");
  /** Hash: SIM to its stored record. */
  readonly sims = (profile: string): string => this.of("sims", profile);
  /** Hash: number of known and gone SIMs, the next ordinal, and the fields stored by the last complete sync. */
  readonly simsHead = (profile: string): string => this.of("sims", profile, "head");
  /** String: SIM keys of one chunk in ordinal order. Without a chunk, the common prefix. */
  readonly simsKeyOrder = (profile: string, chunk?: number): string => this.of("sims", profile, "roll", chunk ?? "");
  /** Hash: value of an indexed field to the number of its bitmap (index.lua). */
  readonly simsIndex = (profile: string): string => this.of("sims", profile, "index");
  /** Prefix of bitmaps of ordinals: one for each number in the index, `listed` and `gone`. */
  readonly simsBitmaps = (profile: string): string => this.of("sims", profile, "bits", "");
  /** Bitmap: ordinals of the SIMs that the current sync has seen. */
  readonly simsSeen = (profile: string): string => this.of("sims", profile, "seen");
  /** Hash: SIM to the run that is currently changing its class, and the class. */
  readonly simLocks = (profile: string): string => this.of("sims", profile, "locks");
  /** Hash: the current or last sync. */
  readonly sync = (profile: string): string => this.of("sims", profile, "sync");
  /** Stream: the events of all profiles. */
  readonly events = (): string => this.of("events");
  /** String, expires after a month: the event with this mark was emitted. */
  readonly emittedOnce = (mark: string): string => this.of("events", "told", mark);
  /** Hash: consumer of the event stream to the id of its last handled event. */
  readonly feedPlaces = (): string => this.of("events", "places");
  /** String, expires after a few seconds: lease of the process that reads for this consumer. */
  readonly feedLease = (consumer: string): string => this.of("events", "lease", consumer);
  /** Sorted set: counts of the fleet, by time. */
  readonly fleetHistory = (profile: string): string => this.of("sims", profile, "history");
  /** Hash, expires after a day: processes that started a piece of work and have not ended it, to their start time. */
  readonly workMarks = (work: string): string => this.of("work", work);
  /** Sorted set, expires after a few seconds: live workers of a queue, by the expiry of their entry. */
  readonly liveWorkers = (queue: string): string => this.of("workers", queue);
  /** Set: names of all queues that were ever opened. */
  readonly queueNames = (): string => this.of("queues");
  /** Prefix of BullMQ's own keys. */
  readonly queues = (): string => this.of("queue");
}
