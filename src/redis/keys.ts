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
  /** Hash: one run's head and tally. A sync reads when a run that has locked SIMs ended. */
  readonly run = (runId: string): string => this.of("run", runId);
  /** Stream: the events of all profiles. */
  readonly events = (): string => this.of("events");
  /** String, expires after a month: the event with this mark was emitted. */
  readonly emittedOnce = (mark: string): string => this.of("events", "told", mark);
  /** Hash: reader of the event stream to the id of its last handled event. */
  readonly feedPlaces = (): string => this.of("events", "places");
  /** Hash, expires after a day: processes that started a piece of work and have not ended it, to their start time. */
  readonly workMarks = (work: string): string => this.of("work", work);
  /** Sorted set, expires after a few seconds: live workers of a queue, by the expiry of their entry. */
  readonly liveWorkers = (queue: string): string => this.of("workers", queue);
  /** Set: names of all queues that were ever opened. */
  readonly queueNames = (): string => this.of("queues");
  /** Prefix of BullMQ's own keys. */
  readonly queues = (): string => this.of("queue");
}
