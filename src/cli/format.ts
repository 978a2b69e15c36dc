/** Numbers and durations in the texts of commands. */

/** 12,345 */
export function grouped(count: number): string {
  return count.toLocaleString("en-US");
}

/** `1 row`, `12,345 rows` */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${grouped(count)} ${count === 1 ? noun : plural}`;
}

/** `4 s`, `2 min 5 s`, `3 h 12 min`, `2 d 4 h` */
export function duration(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}
