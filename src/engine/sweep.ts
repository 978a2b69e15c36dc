/** The removal of old data: a feature removes its own, and the feature storage decides when. */

/** One removal of what features have kept for long enough. A removal that is interrupted is completed by the next. */
export interface Sweep {
  /** By Redis's clock, ms since the epoch: that of a process may be wrong. */
  readonly nowMs: number;
  /** Aborts between two pieces of data. */
  readonly signal: AbortSignal;
}

/** How much was removed, by kind; `problems`: what could not be, with the reason. */
export interface Swept {
  readonly counts: Readonly<Record<string, number>>;
  readonly problems?: readonly string[];
}

/** The features of a process, which sweep one after the other. */
export interface SweepHost {
  readonly sweep: (sweep: Sweep) => Promise<Required<Swept>>;
}
