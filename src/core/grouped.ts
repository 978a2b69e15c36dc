/** `12,345`, with up to three decimals. Intl formats numbers as well, but its first use takes 12 ms of a command. */
export function grouped(count: number): string {
  return String(Number(count.toFixed(3))).replaceAll(/\B(?<!\.\d*)(?=(?:\d{3})+(?!\d))/g, ",");
}
