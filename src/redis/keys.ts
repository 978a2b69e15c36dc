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

  /** Hash: segment number to its packed input rows. */
  runInput(runId: string): string {
    return `${this.prefix}:run:${runId}:input`;
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
  simsRoll(profile: string, chunk?: number): string {
    return `${this.prefix}:sims:${profile}:roll:${chunk ?? ""}`;
  }

  /** String: the signatures of one chunk. Without a chunk, the prefix of all. */
  simsSigns(profile: string, chunk?: number): string {
    return `${this.prefix}:sims:${profile}:signs:${chunk ?? ""}`;
  }

  /** Hash: value of a field with few values to its code. */
  simsCodes(profile: string): string {
    return `${this.prefix}:sims:${profile}:codes`;
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

  /** Stream: the event feed of all profiles. */
  events(): string {
    return `${this.prefix}:events`;
  }

  /** String that lives a few seconds: a process works on this queue. */
  liveWorker(queue: string, workerId: string): string {
    return `${this.prefix}:worker:${queue}:${workerId}`;
  }

  /** Prefix of all of BullMQ's own keys. */
  queues(): string {
    return `${this.prefix}:queue`;
  }
}
