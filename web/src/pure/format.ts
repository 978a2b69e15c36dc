/** Numbers, times and durations as text, formatted as on the command line. */

/** 12,345 */
export function grouped(count: number): string {
  return count.toLocaleString("en-US");
}

/** `1 row`, `12,345 rows` */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${grouped(count)} ${count === 1 ? noun : plural}`;
}

/** `4 s`, `2 min 5 s`, `3 h 12 min`, `2 d 4 h`; parts that are zero are omitted: `5 min`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds));
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return pair(minutes, "min", whole % 60, "s");
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? pair(hours, "h", minutes % 60, "min") : pair(Math.floor(hours / 24), "d", hours % 24, "h");
}

function pair(whole: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${restUnit}`;
}

/** `just now`, `5 min ago`, `in 3 h`: the distance of an instant from now, in its largest unit. */
export function distance(iso: string, nowMs: number): string {
  const seconds = (Date.parse(iso) - nowMs) / 1_000;
  const far = Math.abs(seconds);
  if (Number.isNaN(seconds)) return iso;
  if (far < 5) return "just now";
  const text =
    far < 60
      ? `${Math.round(far)} s`
      : far < 5_400
        ? `${Math.round(far / 60)} min`
        : far < 172_800
          ? `${Math.round(far / 3_600)} h`
          : `${grouped(Math.round(far / 86_400))} d`;
  return seconds < 0 ? `${text} ago` : `in ${text}`;
}

/** `2026-11-22 08:00:05 UTC+9`: local time with its zone. */
export function localTime(iso: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())} ${zoneOf(at)}`;
}

/** `UTC+9`, `UTC-3:30`, `UTC`: the local zone at that time. */
export function zoneOf(at: Date): string {
  const minutes = -at.getTimezoneOffset();
  if (minutes === 0) return "UTC";
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? "-" : "+"}${hours}${rest === 0 ? "" : `:${two(rest)}`}`;
}

/** `08:00`, or `08:00:05` if there are seconds, in local time. */
export function clockTime(ms: number): string {
  const at = new Date(ms);
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  return at.getSeconds() === 0 ? time : `${time}:${two(at.getSeconds())}`;
}

function two(part: number): string {
  return String(part).padStart(2, "0");
}

/** `2026-11-22 08:00 UTC` */
export function utcTime(iso: string): string {
  return `${iso.slice(0, 16).replace("T", " ")} UTC`;
}

/** `0%`, `<1%`, `37%`, `>99%`, `100%`: 0% and 100% are shown only when exact. */
export function percent(part: number, whole: number): string {
  if (whole === 0 || part === 0) return "0%";
  const share = (100 * part) / whole;
  if (share < 1) return "<1%";
  return part < whole && share > 99 ? ">99%" : `${Math.round(share)}%`;
}

/** `812 B`, `4.2 MB` */
export function fileSize(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  const steps = Math.min(3, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1_000 ** steps).toFixed(1)} ${["B", "kB", "MB", "GB"][steps]}`;
}

/** A value of a SIM's field, formatted for a cell. */
export function valueText(value: unknown): string {
  if (value === undefined || value === null || value === "") return "–";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** `a`, `a and b`, `a, b and c` */
export function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
