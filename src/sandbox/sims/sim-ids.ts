/**
 * The ids of the SIMs by position in the list. Generated ids are computed from seed and position, and back; only given
 * ids are stored as text: those of the options for the first positions, and those that were added later one by one.
 */
import { seededShare } from "../seeded.ts";

const simIdPrefix = "8942310";
const imsiPrefix = "29505";

export class SimIds {
  readonly #first: readonly string[];
  readonly #later = new Map<number, string>();
  readonly #placeByGiven: Map<string, number>;
  readonly #firstSerial: number;
  readonly #firstImsi: number;

  constructor(seed: number, given: readonly string[] = []) {
    this.#first = given;
    this.#placeByGiven = new Map(given.map((id, place) => [id, place]));
    this.#firstSerial = Math.floor(seededShare(seed, -2) * 9e10);
    this.#firstImsi = Math.floor(seededShare(seed, -3) * 9e9);
  }

  simIdAt(place: number): string {
    return this.#first[place] ?? this.#later.get(place) ?? this.#madeUpAt(place);
  }

  imsiAt(place: number): string {
    return imsiPrefix + String(this.#firstImsi + place).padStart(10, "0");
  }

  /** The position of this id or, for a generated id, the position it would have in a list that is long enough. */
  placeOfSimId(simId: string): number | undefined {
    const given = this.#placeByGiven.get(simId);
    if (given !== undefined) return given;
    const place = Number(simId.slice(simIdPrefix.length, -1)) - this.#firstSerial;
    return isPlace(place) && this.simIdAt(place) === simId ? place : undefined;
  }

  /** As `placeOfSimId`. */
  placeOfImsi(imsi: string): number | undefined {
    const place = Number(imsi.slice(imsiPrefix.length)) - this.#firstImsi;
    return isPlace(place) && this.imsiAt(place) === imsi ? place : undefined;
  }

  /** A generated id of these positions that was given to a SIM at another position. */
  clashWithin(from: number, to: number): string | undefined {
    if (this.#placeByGiven.size === 0) return undefined;
    for (let place = from; place < to; place += 1) {
      const id = this.#madeUpAt(place);
      if (this.#placeByGiven.has(id)) return id;
    }
    return undefined;
  }

  give(place: number, simId: string): void {
    this.#later.set(place, simId);
    this.#placeByGiven.set(simId, place);
  }

  /** Only the ids of the options are assigned again. */
  reset(): void {
    for (const simId of this.#later.values()) this.#placeByGiven.delete(simId);
    this.#later.clear();
  }

  #madeUpAt(place: number): string {
    const digits = simIdPrefix + String(this.#firstSerial + place).padStart(11, "0");
    return digits + luhnDigitOf(digits);
  }
}

function isPlace(number: number): boolean {
  return Number.isSafeInteger(number) && number >= 0;
}

/** An IMEI from its first 14 digits. */
export function withImeiDigit(digits: string): string {
  return digits + luhnDigitOf(digits);
}

/** As `withLuhnDigit` of `fleet/sim`, without its trials: listing a page computes thousands. */
function luhnDigitOf(digits: string): number {
  let sum = 0;
  for (let i = digits.length - 1, isDoubled = true; i >= 0; i -= 1, isDoubled = !isDoubled) {
    const digit = digits.charCodeAt(i) - 48;
    sum += isDoubled ? (digit > 4 ? digit * 2 - 9 : digit * 2) : digit;
  }
  return (10 - (sum % 10)) % 10;
}
