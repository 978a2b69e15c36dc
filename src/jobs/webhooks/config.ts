/** The section `webhooks`: receivers, their events, addresses and signatures. */
import { z } from "zod";
import type { Problem } from "#core/errors.ts";
import type { Secret } from "#core/secret.ts";
import { asWebhookSecret } from "#core/webhook-secret.ts";
import { knownPatterns, typesMeantBy } from "#events/event-pattern.ts";
import { literalFault } from "#events/webhook/webhook-address.ts";
import { type Webhook, webhookFormats } from "#fleet/webhook.ts";
import { FreshSecret } from "#config/secrets/fresh-secret.ts";
import { oneOf, type Kind, number, path, text, webAddress, yesOrNo } from "#config/value-types.ts";
import { defaulted, given, hasOneOf, optional, readSection, says } from "#config/section.ts";
import { suggestion } from "#core/suggest.ts";
import type { Tree } from "#config/file/yaml-file.ts";

const patterns: Kind<readonly string[]> = {
  schema: z.array(z.string().min(1)).min(1).max(100),
  expects: 'a list of event types such as `["run.*", "credential.failed"]`',
};
const secretForm = "whsec_ and 24 to 64 bytes in base64, or a key of 24 to 64 bytes as it is";

const structure = z
  .strictObject({
    url: optional(webAddress, "Address for messages. The address of a chat is a secret and better kept in a file."),
    urlFile: optional(path, "File that holds the address, instead of `url`."),
    secret: optional(text(secretForm), "The secret that signs messages, better kept in a file."),
    secretFile: optional(path, "File of the secret that signs messages, instead of `secret`."),
    previousSecretFile: optional(path, "File of the previous secret, which also signs while receivers switch over."),
    events: given(patterns, "Event types, a prefix (`run.*`), or `*`; docs/events.md lists them."),
    profile: optional(text("the name of a profile", /^[A-Za-z0-9_-]{1,64}$/), "Only events of this profile.", "all"),
    format: defaulted(
      oneOf(webhookFormats),
      "`standard` is signed JSON for programs; the others are sentences for people: `slack` (also for Mattermost and Rocket.Chat), `teams`, `text`.",
      "standard",
    ),
    allowPrivate: optional(yesOrNo, "Whether the address may lead into a private network.", "`false`"),
    timeoutSeconds: defaulted(number(0.1, 30), "Timeout of one attempt.", 15),
  })
  .refine(hasOneOf("url", "urlFile"), says("must have either url or urlFile."));

export const webhooksSection = {
  path: "webhooks",
  schema: structure,
  about: "Receivers of events, each with a name. See docs/webhooks.md for how to receive and verify messages.",
} as const;

/** A webhook with what its messages need; both are read again at every use. */
export interface WebhookConfig {
  readonly webhook: Webhook;
  readonly url: () => string;
  /** The present one first; none where messages are not signed. */
  readonly secrets: () => readonly Secret[];
  /** What was wrong with its files at the last use, which went on with what they held before. */
  readonly faults: () => readonly string[];
}

/** Reads the section, its files, and checks it against the catalogue of events. */
export function readWebhooks(
  tree: Tree,
  profiles: readonly string[],
  problems: Problem[],
): Readonly<Record<string, WebhookConfig>> {
  const webhooks: [string, WebhookConfig][] = [];
  for (const [name, written] of readSection(tree, webhooksSection, problems)) {
    const faults = new Faults(`${webhooksSection.path}.${name}`, problems);
    checkEvents(written.events, faults);
    checkProfile(written.profile, profiles, faults);
    const url = addressOf(written, faults);
    const secrets = secretsOf(written, faults);
    const kept = [url, ...secrets].filter((one) => one !== undefined);
    webhooks.push([
      name,
      {
        webhook: webhookOf(name, written),
        url: () => (url === undefined ? (written.url ?? "") : url.now().reveal()),
        secrets: () => secrets.map((one) => one.now()),
        faults: () => kept.map((one) => one.fault).filter((fault) => fault !== undefined),
      },
    ]);
  }
  return Object.fromEntries(webhooks);
}

type Written = z.output<typeof structure>;

/** Where faults of one webhook go. */
class Faults {
  readonly #at: string;
  readonly #problems: Problem[];

  constructor(at: string, problems: Problem[]) {
    this.#at = at;
    this.#problems = problems;
  }

  report(key: string, message: string): void {
    this.#problems.push({ where: `${this.#at}.${key}`, message });
  }
}

function webhookOf(name: string, { events, profile, format, allowPrivate, timeoutSeconds }: Written): Webhook {
  return { name, events, profile, format, allowPrivate: allowPrivate === true, timeoutMs: timeoutSeconds * 1_000 };
}

function checkEvents(events: readonly string[], faults: Faults): void {
  for (const [i, pattern] of events.entries()) {
    if (typesMeantBy(pattern).length > 0) continue;
    faults.report(`events.${i}`, `There is no event ${pattern}.${suggestion(pattern, knownPatterns())}`);
  }
}

function checkProfile(profile: string | undefined, profiles: readonly string[], faults: Faults): void {
  if (profile === undefined || profiles.includes(profile)) return;
  faults.report("profile", `There is no profile ${profile}.${suggestion(profile, profiles)}`);
}

/** The address where it is a secret: one in a file, and that of a chat, since it lets anybody write there. */
function addressOf(written: Written, faults: Faults): FreshSecret | undefined {
  const { url, urlFile, format, allowPrivate } = written;
  const isOpen = (address: string): boolean =>
    allowPrivate === true || literalFault(new URL(address).hostname, "public") === undefined;
  if (url !== undefined) {
    if (!isOpen(url)) faults.report("url", "leads into a private network, which allowPrivate: true allows.");
    return format === "standard" ? undefined : FreshSecret.given(url, (address) => address);
  }
  const reading = (address: string): string | undefined =>
    webAddress.schema.safeParse(address).success && isOpen(address) ? address : undefined;
  const read = FreshSecret.of(urlFile ?? "", reading, `${webAddress.expects}, of no private network`);
  if (read instanceof FreshSecret) return read;
  if (urlFile !== undefined) faults.report("urlFile", read.fault);
  return undefined;
}

function secretsOf(written: Written, faults: Faults): readonly FreshSecret[] {
  const { secret, secretFile, previousSecretFile, format } = written;
  const isSigned = secret !== undefined || secretFile !== undefined;
  if (format !== "standard") {
    if (isSigned) faults.report(secret === undefined ? "secretFile" : "secret", `is for the format standard alone.`);
    return [];
  }
  if (!isSigned) faults.report("secretFile", `is required to sign messages: a file of ${secretForm}.`);
  if (secret !== undefined && secretFile !== undefined)
    faults.report("secret", "is set together with secretFile. Keep one.");
  const kept: FreshSecret[] = [];
  if (secret !== undefined) {
    const fresh = FreshSecret.given(secret, asWebhookSecret);
    if (fresh === undefined) faults.report("secret", `must be ${secretForm}.`);
    else kept.push(fresh);
  }
  for (const [key, file] of Object.entries({ secretFile, previousSecretFile })) {
    if (file === undefined) continue;
    const read = FreshSecret.of(file, asWebhookSecret, secretForm);
    if (read instanceof FreshSecret) kept.push(read);
    else faults.report(key, read.fault);
  }
  return kept;
}
