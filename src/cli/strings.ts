/** The texts that commands share: headings, common options, questions, and the messages of the program itself. */
import { counted, duration } from "./format.ts";

/** The headings of the help. */
export const groupStrings = {
  start: "Get started:",
  change: "Change SIMs:",
  fleet: "See the fleet:",
  secrets: "Rotate secrets:",
  automate: "Automate:",
  follow: "Follow what happens:",
  operate: "Operate simfleet:",
} as const;

export type CommandGroup = keyof typeof groupStrings;

export const programStrings = {
  description: "Changes fleets of SIMs through a rate-limited connectivity API.",
  version: "show the version",
  help: "show this help",
  helpCommand: "show the help of a command",
  commands: "Commands:",
  example: "Example:",
  commonOptions: "Common options:",
  unknownCommand: (word: string, suggestion: string) => `unknown command '${word}'.${suggestion}`,
  emptyOption: (flag: string) => `${flag} is empty: give it a value, or leave it out`,
  emptyArgument: "An argument is empty",
  error: (message: string) => `simfleet: ${message}`,
  seeHelp: (message: string) => `${message} Add --help for the options.`,
} as const;

/** Options and messages of several commands. */
export const commonStrings = {
  config:
    "the YAML configuration (default: SIMFLEET_CONFIG, else config/simfleet.yaml, else /etc/simfleet/simfleet.yaml)",
  profile: "profile (account) to use (default: SIMFLEET_PROFILE, else default)",
  server: "send the command to the control API of this worker (default: SIMFLEET_SERVER)",
  json: "print one JSON document on stdout",
  yes: "skip the confirmation; required without a terminal",
  detach: "leave it to a worker and return immediately",
  where: (description: string) => `${description}, such as tags.site=berlin; repeatable, and all must match`,
  localOnly: (url: string) =>
    `This command only works locally and cannot be sent to ${url}: leave out --server and SIMFLEET_SERVER`,
  notOneOf: (names: readonly string[], suggestion: string) => `It must be one of ${names.join(", ")}.${suggestion}`,
  notACount: "It must be a whole number of at least 1.",
  notAnInstant:
    "It must be an age such as 90m, 24h or 7d, or a date or time such as 2026-11-20 or 2026-11-20T08:00, in local time unless it has an offset.",
  noTerminal: "Not a terminal: add --yes to confirm. Nothing was started",
  yesOrNo: (question: string) => `${question} [y/N] `,
  nothingStarted: "Nothing was started.",
  rejectedCredentials: (message: string) => `The platform rejected the credentials: ${message}`,
  /** @param files where the place of the data could have been named; empty: it was */
  noData: (dataDir: string, files: readonly string[]) => {
    const usual =
      files.length === 0 ? "" : `, the usual place of this user; no other is named in ${files.join(" or ")}`;
    return `No data of simfleet was found in ${dataDir}${usual}. Nothing was done. Name the worker's data with --config, SIMFLEET_DATA_DIR or SIMFLEET_REDIS_URL, or its address with --server`;
  },
  auditFailed: (message: string) => `The result could not be recorded in the audit log: ${message}`,
} as const;

export const listStrings = {
  limit: "maximum number of results",
  columns: "comma-separated columns, named as in --json",
  sort: "sort the list by this field; -FIELD reverses the order",
  cursor: "continue after the page that returned this cursor",
  more: (cursor: string) => `More: --cursor ${cursor}`,
  sortWithCursor: "--sort needs the whole list: leave out --cursor or --sort",
  sortWithMore:
    "--sort needs the whole list, and there are more rows than --limit: raise it (up to 1000), or leave out --sort",
  unknownColumn: (name: string, suggestion: string, names: readonly string[]) =>
    `There is no column ${name}.${suggestion} Columns: ${names.join(", ")}`,
} as const;

/** A remote worker (`--server`). */
export const workerStrings = {
  tokenNeeded: "A token for the worker is required: set SIMFLEET_SERVER_TOKEN_FILE",
  remoteTokenNeeded: (host: string) =>
    `A token for ${host} is required: set SIMFLEET_SERVER_TOKEN_FILE. The token of the data directory is only sent to this machine`,
  noResponse: (url: string, cause: string) => `No response from the worker at ${url}: ${cause}`,
  notAWorker: (url: string, status: number) => `${url} answered ${status}, but not like a simfleet worker`,
  unreadable: (file: string, cause: string) => `The file ${file} cannot be read: ${cause}`,
  streamEnded: "The worker ended the event stream before the newest event",
  tryingAgain: (message: string) => `${message}. Trying again …`,
} as const;

/** The current problem of a run, a sync or a rotation. */
export const problemStrings = {
  attempts: (count: number, since: string) => `${counted(count, "failed attempt")} since ${since}`,
  nextIn: (ms: number) => `next attempt in ${duration(ms)}`,
  nextNow: "next attempt now",
} as const;
