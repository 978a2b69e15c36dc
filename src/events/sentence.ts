/**
 * Sentences about events from templates: `{field}` is a field of the event; a part in brackets is left out if its field
 * is empty, or zero where `+` follows the name. The dashboard and messages for chats share them.
 */

/** Text, or a field of the event, which may be shown as a link. */
export type Part = string | { readonly field: string; readonly value: string };

type Fields = Readonly<Record<string, string>>;

const piece = /\[([^\]]*)\]|\{(\w+)(\+?)\}|[^[{]+/g;

/** The parts of the sentence, neighboring texts as one. */
export function partsOfSentence(template: string, fields: Fields): Part[] {
  return (toParts(template, fields, "sentence") ?? []).reduce<Part[]>((all, part) => {
    const last = all.at(-1);
    if (typeof part === "string" && typeof last === "string") return [...all.slice(0, -1), last + part];
    return [...all, part];
  }, []);
}

export function textOfSentence(parts: readonly Part[]): string {
  return parts.map((part) => (typeof part === "string" ? part : part.value)).join("");
}

/** Undefined for an optional text if one of its fields is empty. */
function toParts(template: string, fields: Fields, within: "sentence" | "brackets"): Part[] | undefined {
  const parts: Part[] = [];
  for (const [text, optional, field, isCount] of template.matchAll(piece)) {
    if (optional !== undefined) parts.push(...(toParts(optional, fields, "brackets") ?? []));
    else if (field === undefined) parts.push(text);
    else {
      const value = fields[field] ?? "";
      const isEmpty = value === "" || (isCount === "+" && value === "0");
      if (isEmpty && within === "brackets") return undefined;
      parts.push(isEmpty ? "–" : { field, value });
    }
  }
  return parts;
}
