/** The forms of a webhook's secret: `whsec_` and base64 by the Standard Webhooks specification, or the key itself. */

const prefix = "whsec_";
const leastBytes = 24;
const mostBytes = 64;

/** The bytes of the key; undefined where the text is no such secret, or not of 24 to 64 bytes. */
export function webhookKey(text: string): Buffer | undefined {
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  const bytes = Buffer.from(text.slice(prefix.length), "base64");
  return bytes.length >= leastBytes && bytes.length <= mostBytes ? bytes : undefined;
}

/** The secret in the form of the specification, also where it was given as the bare key; undefined where it is none. */
export function asWebhookSecret(text: string): string | undefined {
  if (text.startsWith(prefix)) return webhookKey(text) === undefined ? undefined : text;
  const length = Buffer.byteLength(text);
  return length >= leastBytes && length <= mostBytes ? `${prefix}${Buffer.from(text).toString("base64")}` : undefined;
}
