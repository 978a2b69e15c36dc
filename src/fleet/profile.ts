/** A profile is a named account on a platform; its coverage determines the base address of its calls. */
import type { Wording } from "./sim/sim.ts";

/** `g`: Global coverage, `jp`: Japan coverage (interface, sections 2 and 5). */
export type Coverage = "g" | "jp";

export type Language = "en" | "ja";

export interface Profile {
  /** Name in the configuration: letters, digits, `-` and `_`. */
  readonly name: string;
  /** Coverage. Absent: taken from the verified token's claims, if these name exactly one. */
  readonly coverage: Coverage | undefined;
  readonly wording: Wording;
}
