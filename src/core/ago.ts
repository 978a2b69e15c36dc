/**
 * Ages such as `90m`, in the command line and in queries of the control API. The types of the dashboard include this file,
 * so it uses no module of Node.js.
 */

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds since the epoch of `90m`, `24h`, `7d` ago; undefined for another text. */
export function agoMs(text: string): number | undefined {
  const [, count, unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  return count === undefined ? undefined : Date.now() - Number(count) * (unitMs[unit] ?? 0);
}

/** Milliseconds since the epoch of the parameter `since`: an age, or an instant. */
export function sinceMsOf(text: string): number {
  return agoMs(text) ?? Date.parse(text);
}
