/**
 * The two forms of a webhook secret: `whsec_` and base64, as in the Standard Webhooks specification, or the key itself.
 */

const prefix = "whsec_";
const minBytes = 24;
const maxBytes = 64;

/** The bytes of the key; undefined if the text is not a valid secret, or the key is not 24 to 64 bytes long. */
export function webhookKey(text: string): Buffer | undefined {
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  const bytes = Buffer.from(text.slice(prefix.length), "base64");
  return bytes.length >= minBytes && bytes.length <= maxBytes ? bytes : undefined;
}

/** The secret in the form of the specification, even if it was given as the bare key; undefined if it is invalid. */
export function asWebhookSecret(text: string): string | undefined {
  if (text.startsWith(prefix)) return webhookKey(text) === undefined ? undefined : text;
  const length = Buffer.byteLength(text);
  return length >= minBytes && length <= maxBytes ? `${prefix}${Buffer.from(text).toString("base64")}` : undefined;
}
