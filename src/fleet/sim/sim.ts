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

const simIdPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const imsiPattern = /^[0-9]{5,15}$/;

export function isSimId(text: string): boolean {
  return simIdPattern.test(text);
}

export function isImsi(text: string): boolean {
  return imsiPattern.test(text);
}

/** Whether the last digit is the Luhn check digit of the others, as in an ICCID of 19 digits. */
export function hasLuhnDigit(digits: string): boolean {
  if (!/^[0-9]{2,}$/.test(digits)) return false;
  let sum = 0;
  for (let i = 0; i < digits.length; i += 1) {
    const digit = digits.charCodeAt(digits.length - 1 - i) - 48;
    const doubled = i % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** Appends the Luhn check digit. */
export function withLuhnDigit(digits: string): string {
  for (let check = 0; check < 10; check += 1) {
    if (hasLuhnDigit(`${digits}${check}`)) return `${digits}${check}`;
  }
  throw new RangeError(`not a row of digits: ${digits}`);
}

// A speed class is a name that the platform knows (`s1.fast`). The interface does not show the allowed values, so any
// well-formed name is accepted; a deployment may list the known ones, and a plan then warns about others.

const speedClassPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export function isSpeedClass(text: string): boolean {
  return speedClassPattern.test(text);
}
