/**
 * The schema of the configuration: every setting that simfleet has, with its type, default, environment variable and
 * meaning. The loader, the check for unknown keys, the types of the settings and the documentation are derived from it.
 * Sections of features are declared in their folders.
 */
import { z } from "zod";
import { dayMs, secondMs } from "#core/time.ts";
import { usualFields } from "#fleet/sim/sim-fields.ts";
import { gatewaySection, httpSection } from "./sections/http.ts";
import { languageSetting, profilesSection } from "./sections/profiles.ts";
import { redisSection } from "./sections/redis.ts";
import { sealSection } from "./sections/seal-key.ts";
import type { Section } from "./feature-section.ts";
import { group, secret, secretOf, setting } from "./setting.ts";
import {
  brand,
  deploymentName,
  integer,
  names,
  number,
  oneOf,
  path,
  plainName,
  profileName,
  reserve,
  someOf,
  text,
  webAddress,
} from "./value-types.ts";
import { dangers } from "#fleet/sim-operation/danger.ts";

const keptDays = number(0.01, 36_500);

export const configSchema = z.strictObject({
  redis: redisSection,
  dataDir: setting(path.optional(), "Folder of the embedded Redis; processes that share it work together.", {
    fallback: "`$XDG_DATA_HOME/simfleet`, else `~/.local/share/simfleet`",
  }),
  deployment: setting(
    deploymentName.default("svc"),
    "Platform definition: addresses, endpoints and operations of the platform.",
  ),
  brand: setting(brand.optional(), "Word in the platform's header names, as in `X-Svc-Token`.", {
    fallback: "the platform definition's (`Svc`)",
  }),
  endpoints: group({
    global: setting(webAddress.optional(), "Base address for Global coverage, without `/v1`.", {
      variable: "SIMFLEET_ENDPOINT_GLOBAL",
      fallback: "the platform definition's",
    }),
    japan: setting(webAddress.optional(), "Base address for Japan coverage, without `/v1`.", {
      variable: "SIMFLEET_ENDPOINT_JAPAN",
      fallback: "the platform definition's",
    }),
  }),
  language: setting(languageSetting.default("en"), "Language of the platform's messages."),
  profile: setting(
    plainName.default("default"),
    "Name of the profile to use; the variables of a profile's settings apply to this one.",
  ),
  profiles: profilesSection,
  tokenTtlSeconds: setting(
    integer(180, 172_800).optional(),
    "Lifetime of a key and token pair in seconds; only requested if the platform definition has the request field.",
    { fallback: "the platform's own (86400)" },
  ),
  jwksUrl: setting(
    webAddress.optional(),
    "Address of the keys that verify a token's signature; without a key, token claims are not used.",
  ),
  tokenPublicKeyFile: setting(
    path.optional(),
    "PEM file of the public key that verifies a token's signature, instead of `jwksUrl`.",
  ),
  limits: group({
    periodSeconds: setting(
      number(0.1, 3600).default(60),
      "Length of the platform's quota window in seconds; fractions are allowed.",
      { variable: "SIMFLEET_RATE_PERIOD_SECONDS" },
    ),
    reserve: setting(
      reserve.default("auto"),
      "Share of each quota that runs and syncs leave to other callers: `auto` spreads calls over the window when that costs no time, and leaves as many calls as other callers used recently; a number such as 0.1 always leaves that share in addition; 0 turns both off.",
      { variable: "SIMFLEET_RESERVE" },
    ),
    connections: setting(integer(1, 1024).default(64), "Maximum concurrent connections to the platform, per process.", {
      variable: "SIMFLEET_CONNECTIONS",
    }),
    egress: setting(
      plainName.optional(),
      "Name of the public address of outgoing calls; authentications are limited per address, so all processes behind one address share a name.",
      { variable: "SIMFLEET_EGRESS", fallback: "the host's name" },
    ),
    credentialSets: setting(
      integer(1, 1_000_000).default(100),
      "Maximum number of Credential Sets of the account; support raises it on request.",
      { variable: "SIMFLEET_CREDENTIAL_SETS" },
    ),
  }).transform(({ periodSeconds, ...limits }) => ({ ...limits, periodMs: periodSeconds * secondMs })),
  inventory: group({
    fields: setting(
      names.default([...usualFields]),
      "Fields of a SIM's record that are kept, `sessionStatus.online` for a member; the key and `speedClass` always are.",
    ),
    secrets: setting(
      names.default([]),
      "Additional field names whose values are never stored, at any depth of a record; names of known secrets are built in.",
    ),
    limit: setting(
      integer(1, 100_000).optional(),
      "Maximum SIMs per page of a sync; longer pages need fewer calls. A page of more than 4 MiB is not read: the sync continues with pages of half the length.",
      { fallback: "the platform's own page size" },
    ),
    profile: setting(
      profileName.optional(),
      "The profile that sees all SIMs of its operator (account): SIMs that its syncs do not list are marked as gone. Other profiles that share the inventory may see only some of the SIMs.",
      { fallback: "that of the Root user, or the first" },
    ),
  }),
  events: group({
    keepDays: setting(
      number(0.01, 3_650).default(30),
      "Days to keep events, and with them the changes of the inventory.",
    ),
    maxEvents: setting(
      integer(1_000, 100_000_000).default(1_000_000),
      "Approximate maximum number of stored events; the oldest are removed first. An event takes about 100 bytes of Redis.",
    ),
  }).transform(({ keepDays, maxEvents }) => ({ keepMs: keepDays * dayMs, maxEvents })),
  changes: group({
    maxRows: setting(
      integer(1, 100_000_000).optional(),
      "Maximum rows of a run that make a call; a larger run is rejected.",
    ),
    approvalAbove: setting(
      integer(0, 100_000_000).optional(),
      "A run with more rows than this that make a call waits until someone else approves it (`simfleet runs approve`).",
      { fallback: "no run waits" },
    ),
    approvalFor: setting(
      someOf(dangers).default([]),
      "Runs of operations with one of these dangers wait for the approval of a second person, whatever their size.",
    ),
  }).transform(({ maxRows: maxChanges, approvalAbove, approvalFor }) => ({ maxChanges, approvalAbove, approvalFor })),
  seal: sealSection,
  http: httpSection,
  gateway: gatewaySection,
  server: group({
    url: setting(webAddress.optional(), "Address of a worker that commands are sent to, as with `--server`.", {
      variable: "SIMFLEET_SERVER",
    }),
    ...secret("token", text(), {
      fallback: "the `admin-token` file in `dataDir`, if it exists and the worker runs on this machine",
      description: "Token for that worker.",
    }),
  }).transform(({ url, token }) => (url === undefined ? undefined : { url, token: secretOf(token) })),
  audit: group({
    keepDays: setting(number(1, 36_500).default(400), "Days to keep the audit log."),
  }).transform(({ keepDays }) => ({ keepMs: keepDays * dayMs })),
  retention: group({
    rowDays: setting(
      keptDays.default(30),
      "Days to keep the rows of a run after its end: inputs and outcomes. The run with its counts stays.",
    ),
    runDays: setting(keptDays.default(365), "Days to keep a run after its end."),
    goneSimDays: setting(keptDays.default(90), "Days to keep a SIM in the inventory after a sync no longer listed it."),
    // Attempts of one delivery span more than a day.
    deliveryDays: setting(number(3, 36_500).default(30), "Days to keep deliveries of webhooks."),
    rotationDays: setting(
      keptDays.default(365),
      "Days to keep the record of a rotation that has ended and is no longer configured.",
    ),
    profileDays: setting(
      keptDays.default(90),
      "Days to keep the data of a profile, such as its inventory and its rotations, after its last sync and after the last worker that had it in its configuration.",
    ),
    warnAtPercent: setting(
      number(1, 100).default(80),
      "Share of Redis's memory, in percent, above which the event `storage.low` is emitted.",
    ),
  }),
  archive: group({
    path: setting(
      path.optional(),
      "Folder to which the results and the report of a run are written before its rows are removed. Without it they are only removed.",
      { fallback: "no archive" },
    ),
  }),
  tracing: group({
    endpoint: setting(
      webAddress.optional(),
      "Address of an OpenTelemetry collector that takes OTLP over HTTP, without `/v1/traces`; without it, nothing is traced.",
    ),
    ratio: setting(
      number(0, 1).default(1),
      "Share of traces that are sent, from 0 to 1. A run is one trace with a span for each of its calls.",
    ),
  }).transform(({ endpoint, ratio }) => (endpoint === undefined ? undefined : { endpoint, ratio })),
  logLevel: setting(
    oneOf(["trace", "debug", "info", "warn", "error", "fatal", "silent"]).default("info"),
    "Minimum severity to log.",
  ),
});

/** The schema with the sections that features declare themselves. */
export function schemaWith(sections: readonly Section[]): typeof configSchema {
  if (sections.length === 0) return configSchema;
  const more = Object.fromEntries(sections.map(({ key, schema }) => [key, schema]));
  return configSchema.extend(more) as unknown as typeof configSchema;
}

/** The settings with their defaults, as the sections make them from what is written. */
export type Settings = z.output<typeof configSchema>;

/** The variable that names the configuration file, which cannot name itself. */
export const fileVariable = "SIMFLEET_CONFIG";
