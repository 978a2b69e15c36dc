/**
 * The identifiers of a SIM. Values come from files and from the platform and become part of a call's path, so only an
 * allow-list of characters is accepted (digits and the letters, `-` and `_` that generated ids use): nothing that could
 * change a path (`/`, `.`, `%`, `?`, `#`) is ever part of an id.
 */

/** The field that identifies a SIM: `simId`, or `imsi` in the older variant of the interface (section 4). */
export type KeyColumn = "simId" | "imsi";

/** `sims` or `subscribers`: the two variants of the same operations in the interface, section 4. */
export type Wording = "sims" | "subscribers";

export function keyColumnOf(wording: Wording): KeyColumn {
  return wording === "sims" ? "simId" : "imsi";
}

export function isSimId(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(text);
}

export function isImsi(text: string): boolean {
  return /^[0-9]{5,15}$/.test(text);
}

// A speed class is a name that the platform knows (`s1.fast`). The interface does not show the allowed values, so any
// well-formed name is accepted; a platform definition may list the known ones, and a plan then warns about others.

export function isSpeedClass(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text);
}
