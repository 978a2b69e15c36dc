/**
 * All single-value settings in one table: path in the YAML file, environment variable, kind, default and meaning. The
 * loader, the check for unknown keys and the documentation are derived from it. A secret can also be read from a file;
 * its path and variable then end in `File` and `_FILE`. Sections with named entries are in sections/.
 */
import { usualFields } from "#fleet/sim/sim-fields.ts";
import { authKeyText } from "./secrets/auth-key-text.ts";
import { dropFolderSettings } from "#jobs/drop-folder/settings.ts";
import { httpSettings } from "./sections/http-settings.ts";
import { dangers } from "#fleet/sim-operation/danger.ts";
import { oneOf, integer, type Kind, names, number, path, redisAddress, someOf, text, webAddress } from "./kind.ts";
import type { Setting } from "./setting.ts";

export const settings = {
  redisUrl: {
    path: "redis.url",
    variable: "SIMFLEET_REDIS_URL",
    kind: redisAddress,
    defaultAbout: "an embedded server",
    hidden: true,
    about:
      "Redis 6.2 or newer, shared by all workers: `rediss://name@host:6380/1`. `rediss://` is TLS; name, port and database may be left out, and a password in it is better kept in a file.",
  },
  redisUsername: {
    path: "redis.username",
    variable: "SIMFLEET_REDIS_USERNAME",
    kind: text(),
    defaultAbout: "the one of `redis.url`, else Redis's `default`",
    about: "ACL user for `redis.url`; given in both, the two must be the same. It needs a password.",
  },
  redisPassword: {
    path: "redis.password",
    variable: "SIMFLEET_REDIS_PASSWORD",
    kind: text(),
    secret: true,
    about: "Password for `redis.url`, where the address does not hold it; given in both, it is refused.",
  },
  redisTlsCaFile: {
    path: "redis.tls.caFile",
    variable: "SIMFLEET_REDIS_TLS_CA_FILE",
    kind: path,
    defaultAbout: "the authorities that Node.js knows",
    about: "PEM file of the authorities that sign the certificate of a `rediss://` server.",
  },
  redisTlsCertFile: {
    path: "redis.tls.certFile",
    variable: "SIMFLEET_REDIS_TLS_CERT_FILE",
    kind: path,
    about: "PEM file of the client certificate, where the `rediss://` server asks for one.",
  },
  redisTlsKeyFile: {
    path: "redis.tls.keyFile",
    variable: "SIMFLEET_REDIS_TLS_KEY_FILE",
    kind: path,
    about: "PEM file of the client certificate's key, without a passphrase; only its owner may be able to read it.",
  },
  dataDir: {
    path: "dataDir",
    variable: "SIMFLEET_DATA_DIR",
    kind: path,
    defaultAbout: "`$XDG_DATA_HOME/simfleet`, else `~/.local/share/simfleet`",
    about: "Folder of the embedded Redis; processes that share it work together.",
  },
  deployment: {
    path: "deployment",
    variable: "SIMFLEET_DEPLOYMENT",
    kind: text("`svc`, `soracom` or the path of a deployment file"),
    default: "svc",
    about: "Deployment (installation) of the platform.",
  },
  brand: {
    path: "brand",
    variable: "SIMFLEET_BRAND",
    kind: text("letters, digits and hyphens", /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38}[A-Za-z0-9])?$/),
    defaultAbout: "the deployment's (`Svc`)",
    about: "Word in the platform's header names, as in `X-Svc-Token`.",
  },
  endpointGlobal: {
    path: "endpoints.global",
    variable: "SIMFLEET_ENDPOINT_GLOBAL",
    kind: webAddress,
    defaultAbout: "the deployment's",
    about: "Base address for Global coverage, without `/v1`.",
  },
  endpointJapan: {
    path: "endpoints.japan",
    variable: "SIMFLEET_ENDPOINT_JAPAN",
    kind: webAddress,
    defaultAbout: "the deployment's",
    about: "Base address for Japan coverage, without `/v1`.",
  },
  profile: {
    path: "profile",
    variable: "SIMFLEET_PROFILE",
    kind: text("letters, digits, - and _", /^[A-Za-z0-9_-]{1,64}$/),
    default: "default",
    about: "Name of the profile to use; the variables of a profile's settings apply to this one.",
  },
  coverage: {
    path: "profiles.<name>.coverage",
    variable: "SIMFLEET_COVERAGE",
    kind: oneOf(["g", "jp"]),
    defaultAbout: "from the verified token, or the only base address there is",
    about: "Coverage of the account: `g` Global, `jp` Japan; decides which base address is called.",
  },
  wording: {
    path: "profiles.<name>.wording",
    variable: "SIMFLEET_WORDING",
    kind: oneOf(["sims", "subscribers"]),
    default: "sims",
    about: "`subscribers` for the platform's earlier wording, in which files name SIMs by `imsi`.",
  },
  profileLanguage: {
    path: "profiles.<name>.language",
    variable: "SIMFLEET_LANGUAGE",
    kind: oneOf(["en", "ja"]),
    defaultAbout: "`language`",
    about: "Language of the platform's messages for this profile.",
  },
  language: {
    path: "language",
    variable: "SIMFLEET_LANGUAGE",
    kind: oneOf(["en", "ja"]),
    default: "en",
    about: "Language of the platform's messages.",
  },
  authKeyId: {
    path: "profiles.<name>.credentials.authKeyId",
    variable: "SIMFLEET_AUTH_KEY_ID",
    kind: text(),
    about: "ID of an AuthKey; not needed where its file holds a JSON object of both.",
  },
  authKey: {
    path: "profiles.<name>.credentials.authKey",
    variable: "SIMFLEET_AUTH_KEY",
    kind: authKeyText,
    secret: true,
    about: "Secret of the AuthKey, or id and secret together.",
  },
  authKeyId2: {
    path: "profiles.<name>.credentials.second.authKeyId",
    variable: "SIMFLEET_AUTH_KEY_ID_2",
    kind: text(),
    about: "ID of a second AuthKey of the same user, used if the first is rejected.",
  },
  authKey2: {
    path: "profiles.<name>.credentials.second.authKey",
    variable: "SIMFLEET_AUTH_KEY_2",
    kind: authKeyText,
    secret: true,
    about: "Secret of the second AuthKey, or id and secret together.",
  },
  email: {
    path: "profiles.<name>.credentials.email",
    variable: "SIMFLEET_EMAIL",
    kind: text("an e-mail address", /^[^\s@]+@[^\s@]+$/),
    about: "E-mail address of the Root user.",
  },
  operatorId: {
    path: "profiles.<name>.credentials.operatorId",
    variable: "SIMFLEET_OPERATOR_ID",
    kind: text(),
    about: "Operator ID of a sub-user.",
  },
  userName: {
    path: "profiles.<name>.credentials.userName",
    variable: "SIMFLEET_USER_NAME",
    kind: text(),
    about: "Name of the sub-user.",
  },
  password: {
    path: "profiles.<name>.credentials.password",
    variable: "SIMFLEET_PASSWORD",
    kind: text(),
    secret: true,
    about: "Password of the Root user or sub-user.",
  },
  mfaSecret: {
    path: "profiles.<name>.credentials.mfaSecret",
    variable: "SIMFLEET_MFA_SECRET",
    kind: text("base32 (letters A to Z, digits 2 to 7)", /^[A-Za-z2-7][A-Za-z2-7 -]*=*$/),
    secret: true,
    about: "Secret for one-time codes, where the user has MFA.",
  },
  tokenTtlSeconds: {
    path: "tokenTtlSeconds",
    variable: "SIMFLEET_TOKEN_TTL_SECONDS",
    kind: integer(180, 172_800),
    defaultAbout: "the platform's own (86400)",
    about: "Lifetime of a key and token pair in seconds; only requested if the deployment defines the request field.",
  },
  jwksUrl: {
    path: "jwksUrl",
    variable: "SIMFLEET_JWKS_URL",
    kind: webAddress,
    about: "Address of the keys that verify a token's signature; without a key, token claims are not used.",
  },
  tokenPublicKeyFile: {
    path: "tokenPublicKeyFile",
    variable: "SIMFLEET_TOKEN_PUBLIC_KEY_FILE",
    kind: path,
    about: "PEM file of the public key that verifies a token's signature, instead of `jwksUrl`.",
  },
  periodSeconds: {
    path: "limits.periodSeconds",
    variable: "SIMFLEET_RATE_PERIOD_SECONDS",
    kind: number(0.1, 3600),
    default: 60,
    about: "Length of the platform's quota window in seconds; fractions are allowed.",
  },
  reserve: {
    path: "limits.reserve",
    variable: "SIMFLEET_RESERVE",
    kind: number(0, 0.9),
    default: 0,
    about: "Share of each quota that is reserved for other callers.",
  },
  connections: {
    path: "limits.connections",
    variable: "SIMFLEET_CONNECTIONS",
    kind: integer(1, 1024),
    default: 64,
    about: "Maximum concurrent connections to the platform, per process.",
  },
  egress: {
    path: "limits.egress",
    variable: "SIMFLEET_EGRESS",
    kind: text("letters, digits, - and _", /^[A-Za-z0-9_-]{1,64}$/),
    defaultAbout: "the host's name",
    about:
      "Name of the public address of outgoing calls; authentications are limited per address, so all processes behind one address share a name.",
  },
  inventoryFields: {
    path: "inventory.fields",
    variable: "SIMFLEET_INVENTORY_FIELDS",
    kind: names,
    default: usualFields,
    about:
      "Fields of a SIM's record that are kept, `sessionStatus.online` for a member; the key and `speedClass` always are.",
  },
  inventorySecrets: {
    path: "inventory.secrets",
    variable: "SIMFLEET_INVENTORY_SECRETS",
    kind: names,
    default: [],
    about:
      "Additional field names whose values are never stored, at any depth of a record; names of known secrets are built in.",
  },
  inventoryLimit: {
    path: "inventory.limit",
    variable: "SIMFLEET_INVENTORY_LIMIT",
    kind: integer(1, 100_000),
    defaultAbout: "the platform's own page size",
    about:
      "Maximum SIMs per page of a sync; longer pages need fewer calls. A page of more than 4 MiB is not read: the sync continues with pages of half the length.",
  },
  eventsKeepDays: {
    path: "events.keepDays",
    variable: "SIMFLEET_EVENTS_KEEP_DAYS",
    kind: number(0.01, 3_650),
    default: 30,
    about: "Days to keep events, and with them the changes of the inventory.",
  },
  eventsMost: {
    path: "events.most",
    variable: "SIMFLEET_EVENTS_MOST",
    kind: integer(1_000, 100_000_000),
    default: 1_000_000,
    about:
      "Approximate maximum number of stored events; the oldest are removed first. An event takes about 100 bytes of Redis.",
  },
  mostRows: {
    path: "changes.mostRows",
    variable: "SIMFLEET_CHANGES_MOST_ROWS",
    kind: integer(1, 100_000_000),
    about: "Maximum rows of a run that make a call; a larger run is rejected.",
  },
  approvalFor: {
    path: "changes.approvalFor",
    variable: "SIMFLEET_CHANGES_APPROVAL_FOR",
    kind: someOf(dangers),
    default: [],
    about:
      "Runs of operations with one of these dangers wait for the approval of a second person, whatever their size.",
  },
  approvalAbove: {
    path: "changes.approvalAbove",
    variable: "SIMFLEET_CHANGES_APPROVAL_ABOVE",
    kind: integer(0, 100_000_000),
    defaultAbout: "none waits for it",
    about:
      "A run with more rows than this that make a call waits until another person approves it (`simfleet runs approve`).",
  },
  credentialSets: {
    path: "limits.credentialSets",
    variable: "SIMFLEET_CREDENTIAL_SETS",
    kind: integer(1, 1_000_000),
    default: 100,
    about: "Maximum number of Credential Sets of the account; support raises it on request.",
  },
  sealKeyFile: {
    path: "seal.keyFile",
    variable: "SIMFLEET_SEAL_KEY_FILE",
    kind: path,
    about:
      "File of the key that seals new secrets during a rotation: 32 bytes, raw, in hex or in base64url. Required for rotations.",
  },
  sealPreviousKeyFile: {
    path: "seal.previousKeyFile",
    variable: "SIMFLEET_SEAL_PREVIOUS_KEY_FILE",
    kind: path,
    about: "File of the previous key, which still decrypts secrets of rotations that started with it.",
  },
  ...dropFolderSettings,
  ...httpSettings,
  serverUrl: {
    path: "server.url",
    variable: "SIMFLEET_SERVER",
    kind: webAddress,
    about: "Address of a worker that commands are sent to, as with `--server`.",
  },
  serverToken: {
    path: "server.token",
    variable: "SIMFLEET_SERVER_TOKEN",
    kind: text(),
    secret: true,
    defaultAbout: "that of `admin-token` in `dataDir`, where there is one and the worker is on this machine",
    about: "Token for that worker.",
  },
  auditKeepDays: {
    path: "audit.keepDays",
    variable: "SIMFLEET_AUDIT_KEEP_DAYS",
    kind: number(1, 36_500),
    default: 400,
    about: "Days to keep the audit log.",
  },
  logLevel: {
    path: "logLevel",
    variable: "SIMFLEET_LOG_LEVEL",
    kind: oneOf(["trace", "debug", "info", "warn", "error", "fatal", "silent"]),
    default: "info",
    about: "Minimum severity to log.",
  },
} as const satisfies Record<string, Setting>;

export type SettingId = keyof typeof settings;

/** The type of a setting's value, as its kind checks it. */
export type ValueOf<Id extends SettingId> = (typeof settings)[Id]["kind"] extends Kind<infer T> ? T : never;

/** The variable that names the configuration file; it has no path in it. */
export const fileVariable = "SIMFLEET_CONFIG";

export const settingIds = Object.keys(settings) as SettingId[];

export function settingOf(id: SettingId): Setting {
  return settings[id];
}

/** Path and variable of every way to give a setting: its own, and those of its file where it is a secret. */
export function placesOf({ path: own, variable, secret }: Setting): readonly { path: string; variable: string }[] {
  const places = [{ path: own, variable }];
  if (secret) places.push({ path: `${own}File`, variable: `${variable}_FILE` });
  return places;
}
