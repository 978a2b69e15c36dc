import { visible } from "#core/visible-text.ts";

/**
 * Formats one JSON log line for people: `12:34:56.789 WARN message key=value`, without escape codes, so that it is safe
 * for any output. A line that is not a JSON object is passed through unchanged.
 */
export function prettyLine(line: string): string {
  const fields = parse(line);
  if (fields === undefined) return line;
  const { level, time, message, error, ...rest } = fields;
  const shownTime = typeof time === "string" ? time.slice(11, 23) : "";
  const shownLevel = (typeof level === "string" ? level : "").toUpperCase().padEnd(5);
  const pairs = Object.entries(rest).map(([key, value]) => `${plain(key)}=${plain(value)}`);
  const head = [shownTime, shownLevel, plain(message ?? ""), ...pairs].filter((part) => part !== "").join(" ");
  return `${head}${error === undefined ? "" : errorLines(error)}\n`;
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Untrusted text can neither control a terminal nor imitate a log line. */
function plain(value: unknown): string {
  return visible(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
}

function errorLines(error: unknown): string {
  if (typeof error !== "object" || error === null) return `\n    ${plain(error)}`;
  const { name, code, message, stack, cause } = error as Record<string, unknown>;
  const title = `${plain(name ?? "Error")}${code === undefined ? "" : ` [${plain(code)}]`}: ${String(message)}`;
  const text = typeof stack === "string" ? stack : title;
  const shown = text.split("\n").map((line) => `\n    ${plain(line)}`);
  return `${shown.join("")}${cause === undefined ? "" : errorLines(cause)}`;
}
