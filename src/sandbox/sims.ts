/**
 * The SIMs of the sandbox. A record is made when it is asked for, out of the seed and the SIM's number; what is kept per
 * SIM is only what calls change (class, count, instant: 13 bytes), so that a million SIMs cost little. Made-up ids are
 * computed from the number and back; only a list of given ids is held as text.
 */
import type { Clock } from "#core/time.ts";
import { seededBits, seededShare } from "./seeded.ts";

export interface SimsOptions {
  /** Clock of windows, lifetimes, delays and timestamps. */
  readonly clock: Clock;
  /** Fixes records, faults, latencies and page lengths. Default 1. */
  readonly seed: number;
  /** How many SIMs the seed makes. Default 100. */
  readonly sims: number;
  /** These SIMs, in this order, instead of made-up ids; `sims` then counts for nothing. */
  readonly simIds: readonly string[] | undefined;
  /** Classes that a SIM can have. Default s1.minimum, s1.slow, s1.standard, s1.fast, s1.4xfast, s1.8xfast. */
  readonly speedClasses: readonly string[];
  /** Default OP0000000001. */
  readonly operatorId: string;
}

/** A SIM as answers show it; beyond `simId`, `imsi` and `speedClass` the fields are the sandbox's choice. */
export interface SimRecord {
  readonly simId: string;
  readonly imsi: string;
  readonly speedClass: string;
  readonly [field: string]: unknown;
}

const simIdPrefix = "8942310";
const imsiPrefix = "29505";
const statuses = ["active", "active", "active", "active", "active", "ready", "inactive", "standby"];
const groups = [null, null, "6f1f0d52-stadium", "0b7c1e9a-vending", "c3d2a481-trucks", "91e5bb07-meters"];
const sites = ["berlin", "osaka", "tokyo", "austin", "stadium", undefined];
const firstCreatedMs = Date.UTC(2024, 0, 1);
const createdSpanMs = Date.UTC(2026, 0, 1) - firstCreatedMs;

export class Sims {
  readonly count: number;
  readonly #options: SimsOptions;
  readonly #indexBySimId: ReadonlyMap<string, number> | undefined;
  readonly #firstSerial: number;
  readonly #firstImsi: number;
  readonly #classes: Uint8Array;
  readonly #accepted: Uint32Array;
  readonly #modifiedMs: Float64Array;

  constructor(options: SimsOptions) {
    this.#options = options;
    this.count = options.simIds?.length ?? options.sims;
    this.#indexBySimId = options.simIds && new Map(options.simIds.map((id, index) => [id, index]));
    this.#firstSerial = Math.floor(seededShare(options.seed, -2) * 9e10);
    this.#firstImsi = Math.floor(seededShare(options.seed, -3) * 9e9);
    this.#classes = new Uint8Array(this.count);
    this.#accepted = new Uint32Array(this.count);
    this.#modifiedMs = new Float64Array(this.count);
    this.reset();
  }

  simIdAt(index: number): string {
    const given = this.#options.simIds?.[index];
    if (given !== undefined) return given;
    const digits = simIdPrefix + String(this.#firstSerial + index).padStart(11, "0");
    return digits + luhnDigitOf(digits);
  }

  imsiAt(index: number): string {
    return imsiPrefix + String(this.#firstImsi + index).padStart(10, "0");
  }

  /** The SIM's number, or undefined when there is no such SIM. */
  indexOfSimId(simId: string): number | undefined {
    if (this.#indexBySimId) return this.#indexBySimId.get(simId);
    const index = Number(simId.slice(simIdPrefix.length, -1)) - this.#firstSerial;
    return this.#holds(index) && this.simIdAt(index) === simId ? index : undefined;
  }

  indexOfImsi(imsi: string): number | undefined {
    const index = Number(imsi.slice(imsiPrefix.length)) - this.#firstImsi;
    return this.#holds(index) && this.imsiAt(index) === imsi ? index : undefined;
  }

  speedClassAt(index: number): string {
    return this.#options.speedClasses[this.#classes[index] ?? 0] ?? "";
  }

  acceptedAt(index: number): number {
    return this.#accepted[index] ?? 0;
  }

  /** @returns false when no SIM can have this class */
  setSpeedClass(index: number, speedClass: string): boolean {
    const code = this.#options.speedClasses.indexOf(speedClass);
    if (code < 0) return false;
    this.#classes[index] = code;
    this.#accepted[index] = this.acceptedAt(index) + 1;
    this.#modifiedMs[index] = this.#options.clock.wallMs();
    return true;
  }

  recordAt(index: number): SimRecord {
    const bits = seededBits(this.#options.seed, index);
    const createdTime = firstCreatedMs + Math.floor((bits / 2 ** 32) * createdSpanMs);
    const site = sites[(bits >>> 8) % sites.length];
    const name = `sim-${index + 1}`;
    const status = statuses[bits % statuses.length];
    return {
      simId: this.simIdAt(index),
      operatorId: this.#options.operatorId,
      imsi: this.imsiAt(index),
      msisdn: `42300${String(index).padStart(9, "0")}`,
      status,
      speedClass: this.speedClassAt(index),
      type: "s1.standard",
      moduleType: "nano",
      groupId: groups[(bits >>> 4) % groups.length],
      tags: site === undefined ? { name } : { name, site },
      sessionStatus: { online: status === "active" && (bits & 0x1000) !== 0 },
      expiryAction: null,
      createdTime,
      lastModifiedTime: this.#modifiedMs[index] || createdTime,
    };
  }

  /** As at the start: classes as the seed has them, no accepted changes. */
  reset(): void {
    const classes = this.#options.speedClasses.length;
    for (let i = 0; i < this.count; i += 1) this.#classes[i] = (seededBits(this.#options.seed, i) >>> 12) % classes;
    this.#accepted.fill(0);
    this.#modifiedMs.fill(0);
  }

  #holds(index: number): boolean {
    return index >= 0 && index < this.count;
  }
}

/** As `withLuhnDigit` of the fleet, without its trials: listing a page makes thousands. */
function luhnDigitOf(digits: string): number {
  let sum = 0;
  for (let i = digits.length - 1, isDoubled = true; i >= 0; i -= 1, isDoubled = !isDoubled) {
    const digit = digits.charCodeAt(i) - 48;
    sum += isDoubled ? (digit > 4 ? digit * 2 - 9 : digit * 2) : digit;
  }
  return (10 - (sum % 10)) % 10;
}
