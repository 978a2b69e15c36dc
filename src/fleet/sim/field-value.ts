/** A stored value of a SIM record: text, or the JSON of anything else (a number, an array, a nested object). */
export type FieldValue = { readonly text: string } | { readonly json: string };
