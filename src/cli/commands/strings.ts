/** The texts of the commands that belong to no feature. */
import { grouped } from "../format.ts";

/** Their lines in the help of simfleet. */
export const summaries = {
  init: "write a configuration file",
  worker: "always-on process with dashboard and control API",
  gateway: "quota-sharing proxy for other tools",
  check: "check configuration, Redis, platform addresses, credentials and clock",
  tokens: "create bearer tokens for the control API",
  schema: "the JSON Schema of the configuration",
  completion: "completion for bash, zsh and fish",
  demo: "a sample run against a simulated platform",
  sandbox: "simulate the platform",
} as const;

export const workerCommandStrings = { description: "run the always-on worker; logs JSON lines to stderr" } as const;
export const gatewayStrings = {
  description: "run a quota-sharing proxy for other tools; logs to stderr",
} as const;

export const schemaStrings = {
  description: "print the JSON Schema of the configuration, for editors and other tools",
  json: "no effect: the schema is always JSON",
} as const;

export const completionStrings = {
  description: "print the completion script for a shell",
  ofShell: (shell: string) => `print the completion script for ${shell}`,
  words: "print the words that complete a line; the scripts call it",
  before: "words before the cursor",
  current: "the word at the cursor",
  tree: "print all commands and options as JSON; the build keeps them",
} as const;

export const tokensStrings = {
  create: "create a token, which is shown once and not stored; its hash goes into the configuration",
  name: "owner of the token, as shown in the audit log",
  nameFault: "It may have letters, digits, - and _, and must start and end with a letter or digit.",
  role: "what it may do",
  shownOnce: "The token is not shown again. Add its hash to the configuration of the workers and restart them:",
} as const;

export const checkStrings = {
  description: "check configuration, Redis, platform addresses, credentials and clock",
  labels: { ok: "ok", warning: "warning", wrong: "FAIL" },
  topics: {
    configuration: "configuration",
    redis: "redis",
    clock: "clock",
    profile: "profile",
    address: "address",
    credentials: "credentials",
    token: "token",
    authKey: "AuthKey",
    dropFolder: "drop folder",
  },
  ofProfile: (topic: string, profile: string) => `${topic} of ${profile}`,
  ofSchedule: (name: string) => `schedule ${name}`,
  fault: (where: string, message: string) => `${where}: ${message}`,
  noFile: "from environment variables only",
  topologies: { server: "", sentinel: "primary named by Sentinel, ", cluster: "cluster, " },
  redis: (address: string, topology: string, version: string, policy: string) =>
    `${address}, ${topology}version ${version}, maxmemory-policy ${policy}`,
  user: (name: string, operatorId: string) => `${name} of ${operatorId}`,
  coverage: (who: string, coverageTypes: readonly string[]) => `${who}, coverage ${coverageTypes.join(" and ")}`,
  validUntil: (who: string, until: string) => `${who}, token valid until ${until}`,
  signatureUnknown: "signature not verified: set SIMFLEET_JWKS_URL or SIMFLEET_TOKEN_PUBLIC_KEY_FILE to verify it",
  signatureVerified: "signature verified",
  authKeyAccepted: (authKeyId: string) => `${authKeyId} is accepted`,
  notAFolder: (path: string) => `${path} is not a folder`,
  folderUnusable: (path: string, reason: string) =>
    `${path} cannot be used: ${reason}; create it, and give the worker's user read, write and execute permission`,
  nextTimes: (times: readonly string[]) => `next ${times.join(", ")}`,
  clockRight: (seconds: string) => `within ${seconds} s of Redis's`,
  clockWrong: (seconds: string) =>
    `differs from Redis's by ${seconds} s: synchronize both machines with NTP, or one-time codes will be rejected`,
} as const;

export const demoStrings = {
  description: "try simfleet: a simulated platform, a worker, and a run of a sample file",
  rows: "rows of the sample file",
  keep: "keep everything running after the run, until Ctrl-C",
  platform: (url: string, calls: number, seconds: number) =>
    `Sandbox platform on ${url}: ${calls} calls per ${seconds} s`,
  file: (path: string) => `Sample file: ${path}\n`,
  freeSpace: "Free some space there",
  calls: (accepted: number, throttled: number) =>
    `The platform accepted ${grouped(accepted)} changes and rejected ${throttled} with 429.`,
  results: (path: string) => `Results: ${path}`,
  run: (runId: string) => `\nRun ${runId}, the valid rows of the file:`,
  dashboard: (url: string, tokenFile: string) => `\nDashboard: ${url}\n  Sign in with the token in ${tokenFile}`,
  keepsRunning: (settings: readonly string[]) =>
    `\nSandbox and worker keep running until Ctrl-C. From another terminal:\n${settings.join("\n")}`,
} as const;

export const initStrings = {
  description: "write a configuration file; on a terminal, asks for options that are missing",
  deployment: "installation of the platform: svc, soracom or the path of a deployment file",
  endpoint: "base address of the platform, without /v1; needed if the deployment has none",
  coverage: "coverage of the account, g or jp; needed if the deployment has an address for both",
  authKeyId: "ID of the AuthKey",
  authKeyFile: "file that holds the AuthKey's secret",
  redisUrl: "address of a Redis server, which several machines can share (default: an embedded Redis)",
  dataDir: "folder of the embedded Redis (default: ~/.local/share/simfleet)",
  config: "file to write",
  force: "overwrite the file",
  wrote: (file: string) => `Wrote ${file}.`,
  next: "Next:",
  interrupted: "Interrupted. Nothing was written",
  ask: (question: string) => `${question}: `,
  askWithDefault: (question: string, usual: string) => `${question} [${usual}]: `,
  askDeployment: "Deployment (svc, soracom, or a file)",
  askEndpoint: "Base address, without /v1",
  askCoverage: "Coverage (g or jp)",
  askAuthKeyId: "ID of the AuthKey",
  askAuthKeyFile: "File with the AuthKey's secret",
  askRedisUrl: "Redis URL (empty: embedded)",
  noAddress: (deployment: string) => `the deployment ${deployment} has no address`,
  noAuthKeyId: "simfleet signs in with an AuthKey",
  missing: (option: string, reason: string) => `${option} is required: ${reason}. Nothing was written`,
  exists: (file: string) => `${file} exists and was not changed. Add --force to overwrite it`,
  checkStep: (command: string) => `  ${command}    # verify the configuration, Redis, the address and the AuthKey`,
  secretStep: (command: string) => `  ${command}    # paste the secret, then Enter and Ctrl-D`,
} as const;

export const sandboxStrings = {
  description: "simulate the platform, to try simfleet without an account",
  port: "port to listen on; 0: any free one",
  host: "address to listen on",
  brand: "word in the header names",
  seed: "seed of records, faults, latencies and page lengths",
  sims: "number of simulated SIMs",
  idsFrom: "take the SIM IDs from the column simId of this CSV file",
  speedClasses: "speed classes that a SIM can have",
  records: "shape of SIM records",
  coverage: "coverage to serve",
  coverageTypes: "coverage claims of tokens (default: g)",
  japanPort: "serve Japan coverage at a second address, with SIMs of its own",
  language: "default language of messages",
  operatorId: "ID of the account",
  rootEmail: "email address of the Root user",
  rootPassword: "password of the Root user",
  userName: "name of the sub-user",
  userPassword: "password of the sub-user",
  authKeyId: "ID of the AuthKey",
  authKey: "secret of the AuthKey",
  userAuthKeyId: "ID of an AuthKey of the sub-user",
  userAuthKey: "secret of that AuthKey",
  userKeyAccess: "AuthKeys that the sub-user may manage",
  revokeKillsPairs: "revoking an AuthKey invalidates its pairs of API key and token",
  mfaSecret: "require one-time codes of this secret from the Root user and the sub-user",
  ttlField: "field of /v1/auth that asks for a lifetime",
  pairTtl: "lifetime of every pair of API key and token, ignoring requests",
  tokenAlgorithm: "algorithm of token signatures",
  pageSize: "records per page if the call has no limit",
  maxPageSize: "maximum number of records per page",
  paging: "headers with the next page",
  hostileCursors: "return cursors with characters that need percent-encoding",
  shortPages: "share of pages shorter than requested",
  emptyPages: "share of pages that are empty",
  operations: "operations to serve: those of the specification, or all",
  groupsFrom: "read groups and their configuration from this YAML or JSON file",
  createdStatus: "status of a created Credential Set",
  maxBody: "maximum size of a request body",
  limit: "calls per period, `Sim=300` or `300` for Sim; repeatable",
  period: "length of a quota window",
  rounding: "rounding of seconds-before-refresh",
  anchored: "what opens a window",
  windowOffset: "elapsed part of the first window",
  competitor: "calls per second that another caller makes; repeatable",
  limitChange: "`Sim=100@30`: another limit after 30 s; repeatable",
  fault: (kinds: readonly string[]) => `probability of a fault per call; repeatable; kinds: ${kinds.join(", ")}`,
  faultsOnAuth: "inject faults into authentication as well",
  slow: "delay of the fault slow",
  latency: "delay of every response: `20`, or `10-50` for a random one",
  json: "print {url, port, environment, …} on stdout once it listens",
  listens: (url: string, sims: number) => `The sandbox listens on ${url} with ${sims} SIMs`,
  listensInJapan: (url: string, sims: number) => ` and, for Japan coverage, on ${url} with ${sims}`,
  quota: (calls: number | undefined, seconds: number) => `, ${calls} calls of the group Sim per ${seconds} s.`,
  howToUse: (settings: readonly string[]) => ` To use it, set\n${settings.join("\n")}\nStop it with Ctrl-C.`,
} as const;

/** What is wrong with a value of an option of the sandbox. */
export const sandboxFaults = {
  noSimIds: (file: string) => `${file} has no column simId; the sandbox takes its SIMs from there.`,
  notYaml: (file: string, reason: string) => `${file} cannot be read as YAML or JSON: ${reason}`,
  notGroups: (file: string, reason: string) => `${file} holds no groups: ${reason}`,
  notCsv: (file: string, reason: string) => `${file} cannot be read as CSV: ${reason}`,
  notANumber: "It must be a number.",
  notALatency: "It must be milliseconds, `20` or `10-50`.",
  notALimitChange: "It must be GROUP=LIMIT@SECONDS, such as Sim=100@30.",
  notAFault: (kinds: readonly string[]) => `It must be KIND=SHARE; kinds: ${kinds.join(", ")}.`,
  unknownGroup: (name: string, groups: readonly string[]) => `Unknown API group ${name}; known: ${groups.join(", ")}.`,
} as const;
