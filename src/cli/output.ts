/**
 * The output of a command: one JSON document or text on stdout, everything else on stderr. Only known secrets are
 * removed from it; other text that resembles a secret may be data. External text cannot control the terminal: its
 * control characters are shown as escapes (`core/visible-text`), except in JSON and CSV. Text has local times, JSON has
 * UTC. Only a terminal has a live line at the bottom and escape codes.
 */
import { scrubSecrets, scrubSecretsInJson } from "#core/secrets/scrub-secrets.ts";
import { systemClock } from "#core/time.ts";
import { relativeTime, withLocalTimes } from "./format.ts";
import { grouped } from "#core/grouped.ts";
import { visible, visibleIn, visibleLines } from "#core/visible-text.ts";

/** A terminal that shows a response; a pipe has none. */
export interface Terminal {
  readonly width: number;
  /** For times, which it shows as their distance from now. */
  readonly nowMs: number;
}

/** Where text goes: `process.stdout` and `process.stderr`, or stand-ins of a test. */
export interface TextSink {
  write(text: string): unknown;
  /** Event `drain`: the stream accepts more, after `write` has returned false. */
  once?(event: "drain", listener: () => void): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

export type Output = ReturnType<typeof openOutput>;

export function openOutput(options: {
  isJson: boolean;
  stdout: TextSink;
  stderr: TextSink;
  words?: readonly string[];
}) {
  const { isJson, stdout, stderr, words = [] } = options;
  let hasLiveLine = false;

  /** Leaves the live line, with this text. */
  const endLiveLine = (text: string): void => {
    if (hasLiveLine) stderr.write(text);
    hasLiveLine = false;
  };

  /** Prints text of several lines on stderr. Make external text `visible` first. */
  const sayLines = (text: string): void => {
    endLiveLine("\n");
    stderr.write(`${visibleLines(scrubSecrets(withLocalTimes(text)))}\n`);
  };

  return {
    isJson,
    /** The command line that is carried out, to be continued; empty where there is none. */
    words,
    sayLines,

    /** Whether stderr is a terminal: then one line is updated in place instead of many printed. */
    isLive: stderr.isTTY === true && !isJson,

    /** Columns of the terminal. */
    get width(): number {
      return stderr.columns ?? 80;
    },

    /**
     * The command's answer: `document` with `--json`, else the text; nothing where that is empty.
     * @param text gets the document as a terminal may show it, each text on one line, and the terminal if there is one
     */
    answer<T>(document: T, text: (shown: T, terminal?: Terminal) => string): void {
      endLiveLine("\n");
      const { isTTY, columns: width = 80 } = stdout;
      const terminal = isTTY === true ? { width, nowMs: systemClock.wallMs() } : undefined;
      const answer = isJson
        ? formatJson(document)
        : visibleLines(scrubSecrets(withLocalTimes(text(visibleIn(document), terminal))));
      if (answer !== "") stdout.write(`${answer}\n`);
    },

    /** Writes text that is no JSON document, such as a results file, with backpressure: long output is not buffered. */
    async stream(text: string): Promise<void> {
      if (stdout.write(scrubSecrets(text)) !== false) return;
      await new Promise<void>((resolve) => stdout.once?.("drain", resolve) ?? resolve());
    },

    /** A message for people, on stderr: always one line. */
    say: (text: string): void => sayLines(visible(scrubSecrets(text))),

    /** Writes over the live line; only of use where `isLive`. */
    live(text: string): void {
      stderr.write(`\r\u001B[2K${visible(scrubSecrets(withLocalTimes(text))).slice(0, this.width - 1)}`);
      hasLiveLine = true;
    },

    clearLiveLine: (): void => endLiveLine("\r\u001B[2K"),
  };
}

function formatJson(document: unknown): string {
  const json = JSON.stringify(document);
  return JSON.stringify(JSON.parse(scrubSecretsInJson(json)), undefined, 2);
}

/**
 * Columns of text, each as wide as its widest cell; numbers to the right. A terminal gets times as their distance from
 * now, and columns that fit it: long texts are cut, then the last columns are left out.
 */
export function table(
  header: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  terminal?: Terminal,
): string {
  const formatText = (cell: string): string =>
    (terminal === undefined ? undefined : relativeTime(cell, terminal.nowMs)) ?? withLocalTimes(visible(cell));
  const cells = rows.map((row) => row.map((cell) => (typeof cell === "number" ? grouped(cell) : formatText(cell))));
  const full = header.map((name, i) => Math.max(name.length, ...cells.map((row) => row[i]?.length ?? 0)));
  const widths = terminal === undefined ? full : fitting(full, terminal.width);
  const line = (row: readonly string[], isRight: (i: number) => boolean): string =>
    widths
      .map((width, i) => {
        const cell = cutTo(row[i] ?? "", width);
        return isRight(i) ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd();
  const isNumber = (i: number): boolean => rows.length > 0 && rows.every((row) => typeof row[i] === "number");
  return [line(header, isNumber), ...cells.map((row) => line(row, isNumber))].join("\n");
}

const gap = 2;
/** A text is cut to no less than this. */
const minWidth = 14;

/** The widths of the columns that fit; the first is a name that people copy, and stays whole. */
function fitting(widths: readonly number[], width: number): number[] {
  const fitted = [...widths];
  const excess = (): number => fitted.reduce((sum, one) => sum + one + gap, -gap) - width;
  while (excess() > 0) {
    const widest = Math.max(0, ...fitted.slice(1));
    if (widest > minWidth) fitted[fitted.lastIndexOf(widest)] = widest - 1;
    else if (fitted.length > 1) fitted.pop();
    else break;
  }
  return fitted;
}

function cutTo(cell: string, width: number): string {
  return cell.length <= width ? cell : `${cell.slice(0, width - 1)}…`;
}
