/**
 * File names in a drop folder. The name of a claimed file contains the id of its run, so that users can look up its outcome
 * and no two files ever have the same name.
 */

/** Names that programs use for unfinished files: rsync, FTP clients, browsers, editors. */
const unfinished = /^\.|\.(?:part|tmp|filepart|crdownload)$|~$/i;
const csv = /\.csv$/i;
const taken = /^(?<stem>[^]*)\.(?<runId>r-\d{8}-\d{6}-[a-z0-9]{4,16})\.csv$/;
/** Most file systems limit names to 255 bytes; the rest is for the run's id and the longest suffix. */
const maxStemBytes = 180;

/** A claimed file. */
export interface TakenName {
  /** New name of the file. */
  readonly name: string;
  readonly runId: string;
  /** Original name of the file. */
  readonly original: string;
}

/** Characters that terminals, logs and lists cannot show: control characters, line breaks, changes of direction. */
const unsafe = /[\p{Cc}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\uFFFD]/gu;

/** Whether a file with this name is meant as input, even if its name is not acceptable. */
export function isInput(name: string): boolean {
  const shown = name.replaceAll(unsafe, "");
  return csv.test(shown) && !unfinished.test(shown);
}

/** A name as text; invalid UTF-8 is shown as U+FFFD. */
export function asText(rawName: Buffer): string {
  return rawName.toString("utf8");
}

/** Why a file cannot be accepted with its name; undefined if it can. */
export function nameFault(name: string): string | undefined {
  if (name.includes("\uFFFD")) return "Its name is not valid UTF-8. Rename it, and put it into the folder again.";
  if (name.search(unsafe) < 0) return undefined;
  return "Its name has control characters or line breaks in it. Rename it, and put it into the folder again.";
}

/** The name with _ in place of every unsafe character. */
export function safeName(name: string): string {
  const safe = name.replaceAll(unsafe, "_");
  return csv.test(safe) ? safe : `${safe}.csv`;
}

/** `fleet.csv` becomes `fleet.r-20261120-103045-x7k2m9ab.csv`. */
export function takenName(original: string, runId: string): string {
  return `${shortened(original.replace(csv, ""))}.${runId}.csv`;
}

/** @returns undefined if the name is not that of a claimed file */
export function readTakenName(name: string): TakenName | undefined {
  const { stem, runId } = taken.exec(name)?.groups ?? {};
  return stem === undefined || runId === undefined ? undefined : { name, runId, original: `${stem}.csv` };
}

/** The name of the file that is written next to a claimed file: its results, or its problems. */
export function besideName(name: string, ending: "results.csv" | "problem.txt"): string {
  return name.replace(csv, `.${ending}`);
}

function shortened(stem: string): string {
  let short = "";
  for (const character of stem) {
    if (Buffer.byteLength(short + character) > maxStemBytes) break;
    short += character;
  }
  return short;
}
