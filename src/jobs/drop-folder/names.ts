/**
 * The names of files in a drop folder. A file that was taken carries the id of its run in its name, so that whoever
 * finds it knows what became of it, and no two files ever have one name.
 */

/** What programs call a file that they have not finished: rsync, FTP clients, browsers, editors. */
const unfinished = /^\.|\.(?:part|tmp|filepart|crdownload)$|~$/i;
const csv = /\.csv$/i;
const taken = /^(?<stem>[^]*)\.(?<runId>r-\d{8}-\d{6}-[a-z0-9]{4,16})\.csv$/;
/** A name has 255 bytes in most file systems; the rest is for the run's id and the longest ending. */
const mostStemBytes = 180;

/** A file that was taken. */
export interface TakenName {
  /** As it is called from then on. */
  readonly name: string;
  readonly runId: string;
  /** As it was called before. */
  readonly original: string;
}

/** What terminals, logs and lists cannot show as it is: control characters, line breaks, changes of direction. */
const unsafe = /[\p{Cc}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\uFFFD]/gu;

/** Whether a file of this name is meant to become a run, or was, if its name were a better one. */
export function isInput(name: string): boolean {
  const shown = name.replaceAll(unsafe, "");
  return csv.test(shown) && !unfinished.test(shown);
}

/** A name as text. What is no UTF-8 is shown as U+FFFD. */
export function asText(rawName: Buffer): string {
  return rawName.toString("utf8");
}

/** Why a file cannot be taken under its name; undefined where it can. */
export function nameFault(name: string): string | undefined {
  if (name.includes("\uFFFD")) return "Its name is not valid UTF-8. Rename it, and put it into the folder again.";
  if (name.search(unsafe) < 0) return undefined;
  return "Its name has control characters or line breaks in it. Rename it, and put it into the folder again.";
}

/** The name with _ for everything that it may not have. */
export function safeName(name: string): string {
  const safe = name.replaceAll(unsafe, "_");
  return csv.test(safe) ? safe : `${safe}.csv`;
}

/** `fleet.csv` becomes `fleet.r-20261120-103045-x7k2m9ab.csv`. */
export function takenName(original: string, runId: string): string {
  return `${shortened(original.replace(csv, ""))}.${runId}.csv`;
}

/** @returns undefined for a name that is not that of a file that was taken */
export function readTakenName(name: string): TakenName | undefined {
  const { stem, runId } = taken.exec(name)?.groups ?? {};
  return stem === undefined || runId === undefined ? undefined : { name, runId, original: `${stem}.csv` };
}

/** The file that is put beside a file that was taken: its results, or what was wrong with it. */
export function besideName(name: string, ending: "results.csv" | "problem.txt"): string {
  return name.replace(csv, `.${ending}`);
}

function shortened(stem: string): string {
  let short = "";
  for (const character of stem) {
    if (Buffer.byteLength(short + character) > mostStemBytes) break;
    short += character;
  }
  return short;
}
