/**
 * Serializes a SIM field as one line of text, the form in which the inventory and the event feed store it: text follows
 * `=` verbatim, anything else follows `:` as JSON.
 */

/** A stored value of a SIM record: text, or the JSON of anything else (a number, an array, a nested object). */
export type FieldValue = { readonly text: string } | { readonly json: string };

export function encodeValue(value: FieldValue): string {
  return "text" in value ? `=${value.text}` : `:${value.json}`;
}

export function decodeValue(encoded: string): FieldValue {
  return encoded.startsWith(":") ? { json: encoded.slice(1) } : { text: encoded.slice(1) };
}

/** A name is part of a line and of a list: the separators in it are percent-encoded, each on its own. */
export function encodeName(name: string): string {
  return nameSeparator.test(name) ? name.replace(nameSeparators, encodeURIComponent) : name;
}

const nameSeparator = /[=:%,\s\p{Cc}\u2028\u2029]/u;
const nameSeparators = new RegExp(nameSeparator, "gu");

export function decodeName(encoded: string): string {
  return encoded.includes("%") ? decodeURIComponent(encoded) : encoded;
}
