/** A SIM that a call acts on: what it is now, and the changes that several operations share. */
import { Refusal } from "../refusals.ts";
import type { SimFacts, SimStatus } from "../sims/sim-records.ts";
import type { SandboxOptions } from "../options.ts";
import type { SandboxState } from "../state.ts";

export class ActedSim {
  readonly place: number;
  readonly state: SandboxState;
  readonly #options: SandboxOptions;
  #facts: SimFacts | undefined;

  constructor(state: SandboxState, options: SandboxOptions, place: number) {
    this.state = state;
    this.place = place;
    this.#options = options;
  }

  get facts(): SimFacts {
    this.#facts ??= this.state.sims.factsAt(this.place);
    return this.#facts;
  }

  get nowMs(): number {
    return this.#options.clock.wallMs();
  }

  /** The record as JSON. */
  get text(): string {
    return this.state.sims.textAt(this.place);
  }

  /** Sets fields of the record; null removes one. */
  set(fields: Readonly<Record<string, unknown>>): void {
    // Before as well, since somebody may have changed the status from outside.
    this.state.log.noteStatus(this.place);
    this.state.sims.edit(this.place, fields);
    this.#facts = undefined;
    this.state.log.noteStatus(this.place);
  }

  /** Changes the status; a SIM that is not active has no session. */
  moveTo(status: SimStatus): void {
    if (status !== "active") this.endSession();
    const renewal = status === "standby" || status === "suspended" ? this.nowMs : null;
    this.set({ status, renewalFeeStatusSetTime: renewal });
  }

  /** Ends the session, if there is one. */
  endSession(): void {
    if (!this.facts.sessionStatus.online) return;
    this.state.log.noteSession(this.place, "Deleted", this.nowMs);
    const { imsi } = this.facts;
    const previousSession = { imei: this.deviceImei, imsi, endedTime: this.nowMs };
    this.set({ sessionStatus: { online: false }, previousSession });
  }

  /** The device connects. */
  beginSession(): void {
    const session = { imei: this.state.sims.deviceImeiAt(this.place), imsi: this.facts.imsi };
    this.set({ sessionStatus: { online: true, ...session, lastUpdatedAt: this.nowMs } });
    this.state.log.noteSession(this.place, "Created", this.nowMs);
  }

  /** The IMEI of the session's device; an edit of the session may name another than that of the seed. */
  get deviceImei(): string {
    return this.facts.sessionStatus.imei ?? this.state.sims.deviceImeiAt(this.place);
  }

  /** @throws Refusal if the SIM is terminated */
  checkNotTerminated(): void {
    if (this.state.sims.isTerminatedAt(this.place)) throw new Refusal("simTerminated");
  }
}
