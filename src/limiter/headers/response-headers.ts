/** Response headers, and how to look one up. */

/** Names in lower case. */
export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The value of one header; the first one if it occurs more than once. */
export function headerOf(headers: AnswerHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value : value?.[0];
}
