/** The delimiters that spreadsheets write, depending on their locale. */
export type Delimiter = "," | ";" | "\t";

/**
 * Detects the delimiter from the header line: the one that occurs most often outside quotes; the comma if none occurs.
 * @returns `isWhole` is false if the header line does not end within `start`
 */
export function findDelimiter(start: Buffer): { delimiter: Delimiter; isWhole: boolean } {
  const counts = { ",": 0, ";": 0, "\t": 0 };
  let isQuoted = false;
  let isBlank = true;
  let isWhole = false;
  for (const byte of start) {
    const character = String.fromCharCode(byte);
    if (!isQuoted && (character === "\n" || character === "\r")) {
      if (isBlank) continue;
      isWhole = true;
      break;
    }
    isBlank = false;
    if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (character === "," || character === ";" || character === "\t")) counts[character] += 1;
  }
  const max = Math.max(counts[","], counts[";"], counts["\t"]);
  const delimiter = counts[","] === max ? "," : counts[";"] === max ? ";" : "\t";
  return { delimiter, isWhole };
}
