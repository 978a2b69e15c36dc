/** The section `webhooks`: endpoints, their events, addresses and signatures. */
import { z } from "zod";
import { secondMs } from "#core/time.ts";
import { knownPatterns, typesMeantBy } from "#events/event.ts";
import { literalFault } from "#events/webhook/webhook-address.ts";
import { webhookFormats } from "#fleet/webhook.ts";
import { givenSecret, secretInFile, signingSecret } from "#config/secrets/secret-file.ts";
import type { Known } from "#config/feature-section.ts";
import type { Report } from "#config/report.ts";
import { hasOneOf, says, section, setting } from "#config/setting.ts";
import {
  expectedOf,
  expecting,
  number,
  oneOf,
  path,
  profileName,
  text,
  webAddress,
  yesOrNo,
} from "#config/value-types.ts";
import { suggestion } from "#core/suggest.ts";

const patterns = expecting(
  'a list of event types such as `["run.*", "credential.failed"]`',
  z.array(z.string().min(1)).min(1).max(100),
);
const secretForm = signingSecret.expects;

const structure = z
  .strictObject({
    url: setting(
      webAddress.optional(),
      "Address for messages. The address of a chat is a secret and better kept in a file.",
    ),
    urlFile: setting(path.optional(), "File with the address, instead of `url`."),
    secret: setting(text(secretForm).optional(), "The secret that signs messages, better kept in a file.", {
      secret: true,
    }),
    secretFile: setting(path.optional(), "File of the secret that signs messages, instead of `secret`."),
    previousSecretFile: setting(
      path.optional(),
      "File of the previous secret, which also signs while endpoints switch over.",
    ),
    events: setting(patterns, "Event types, a prefix (`run.*`), or `*`; docs/reference/events.md lists them."),
    profile: setting(profileName.optional(), "Only events of this profile.", { fallback: "all" }),
    format: setting(
      oneOf(webhookFormats).default("standard"),
      "`standard` is signed JSON for programs; the others are sentences for people: `slack` (also for Mattermost and Rocket.Chat), `teams`, `text`.",
    ),
    allowPrivate: setting(yesOrNo.default(false), "Whether the address may lead into a private network."),
    timeoutSeconds: setting(number(0.1, 30).default(15), "Timeout of one attempt."),
  })
  .refine(hasOneOf("url", "urlFile"), says("must have either url or urlFile."));

const schema = section(
  structure,
  "Endpoints for events, each with a name. See docs/webhooks.md for how to receive and verify messages.",
);

export const webhooksSection = { key: "webhooks", schema, read: readWebhooks };

/** A webhook, with its address and secrets as they are now. */
export type WebhookEndpoint = ReturnType<typeof readWebhooks>[string];
export type Webhook = Readonly<WebhookEndpoint["webhook"]>;

/** Reads the section, its files, and checks it against the catalogue of events. */
function readWebhooks(entries: Readonly<Record<string, Written>>, { profiles }: Known, report: Report) {
  const webhooks = Object.entries(entries).map(([name, written]) => {
    const at = `webhooks.${name}`;
    const fault: Fault = (key, message) => report.fault(`${at}.${key}`, message);
    const { events, profile, format, allowPrivate, timeoutSeconds } = written;
    for (const [i, pattern] of events.entries()) {
      if (typesMeantBy(pattern).length > 0) continue;
      fault(`events.${i}`, `There is no event ${pattern}.${suggestion(pattern, knownPatterns())}`);
    }
    if (profile !== undefined) report.checkProfile(`${at}.profile`, profile, profiles);
    const unread: Fault = (key, message) => report.unreadable(`${at}.${key}`, message);
    const url = readAddress(written, fault, unread);
    const secrets = readSecrets(written, fault, unread);
    return [
      name,
      {
        webhook: { name, events, profile, format, allowPrivate, timeoutMs: timeoutSeconds * secondMs },
        /** The address as it is now. */
        url: () => url?.now().reveal() ?? written.url ?? "",
        /** The present one first; none where messages are not signed. */
        secrets: () => secrets.map((one) => one.now()),
        /** Fault of its secret files at the last use, which continued with their previous content. */
        faults: () => [...(url === undefined ? [] : [url]), ...secrets].flatMap((one) => one.fault ?? []),
      },
    ] as const;
  });
  return Object.fromEntries(webhooks);
}

type Written = z.output<typeof structure>;

/** Adds a problem of one key of a webhook. */
type Fault = (key: string, message: string) => void;

/** The address where it is a secret: one in a file, and that of a chat, since it lets anybody write there. */
function readAddress(written: Written, fault: Fault, unread: Fault) {
  const { url, urlFile, format, allowPrivate } = written;
  const isOpen = (address: string): boolean =>
    allowPrivate || literalFault(new URL(address).hostname, "public") === undefined;
  if (url !== undefined) {
    if (!isOpen(url)) fault("url", "leads into a private network, which allowPrivate: true allows.");
    if (format === "standard") return undefined;
    return givenSecret(url, { reading: (address) => address, expects: "an address" });
  }
  if (urlFile === undefined) return undefined;
  const form = {
    reading: (address: string) => (webAddress.safeParse(address).success && isOpen(address) ? address : undefined),
    expects: `${expectedOf(webAddress)}, of no private network`,
  };
  return secretInFile(urlFile, form, (message) => unread("urlFile", message));
}

function readSecrets(written: Written, fault: Fault, unread: Fault) {
  const { secret, secretFile, previousSecretFile, format } = written;
  const isSigned = secret !== undefined || secretFile !== undefined;
  if (format !== "standard") {
    if (isSigned) fault(secret === undefined ? "secretFile" : "secret", `is for the format standard alone.`);
    return [];
  }
  if (!isSigned) fault("secretFile", `is required to sign messages: a file of ${secretForm}.`);
  if (secret !== undefined && secretFile !== undefined) fault("secret", "is set together with secretFile. Keep one.");
  const given = secret === undefined ? undefined : givenSecret(secret, signingSecret);
  if (secret !== undefined && given === undefined) fault("secret", `must be ${secretForm}.`);
  const read = Object.entries({ secretFile, previousSecretFile }).map(([key, file]) =>
    file === undefined ? undefined : secretInFile(file, signingSecret, (message) => unread(key, message)),
  );
  return [given, ...read].filter((one) => one !== undefined);
}
