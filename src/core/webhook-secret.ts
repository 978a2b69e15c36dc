/** The form of a webhook's secret by the Standard Webhooks specification: `whsec_` and base64. */

const prefix = "whsec_";

/** The bytes of the key; undefined where the text is no such secret, or not of 24 to 64 bytes. */
export function webhookKey(text: string): Buffer | undefined {
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  const bytes = Buffer.from(text.slice(prefix.length), "base64");
  return bytes.length >= 24 && bytes.length <= 64 ? bytes : undefined;
}
