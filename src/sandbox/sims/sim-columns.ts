/**
 * The stored data of every SIM: 14 bytes each, in typed arrays indexed by the SIM's position in the list of all SIMs
 * that ever existed. They grow by doubling, so that adding SIMs one by one costs no more than adding them at once.
 */
export class SimColumns {
  /** Number of the class. */
  classes: Uint8Array;
  /** Class changes made by calls. */
  accepted: Uint32Array;
  /** 0: never changed. */
  modifiedMs: Float64Array;
  /** 1: no longer listed. */
  removed: Uint8Array;

  constructor(places: number) {
    this.classes = new Uint8Array(places);
    this.accepted = new Uint32Array(places);
    this.modifiedMs = new Float64Array(places);
    this.removed = new Uint8Array(places);
  }

  /** Ensures capacity for this many positions; existing data is kept. */
  reserve(places: number): void {
    if (places <= this.classes.length) return;
    const grown = new SimColumns(Math.max(places, 2 * this.classes.length));
    grown.classes.set(this.classes);
    grown.accepted.set(this.accepted);
    grown.modifiedMs.set(this.modifiedMs);
    grown.removed.set(this.removed);
    Object.assign(this, grown);
  }

  clear(): void {
    this.classes.fill(0);
    this.accepted.fill(0);
    this.modifiedMs.fill(0);
    this.removed.fill(0);
  }
}
