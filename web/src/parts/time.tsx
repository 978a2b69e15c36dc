/** Times: relative to now with the instant on hover, or the instant itself; an instant always names its zone. */
import type { JSX } from "preact";
import { nowMs } from "../clock.ts";
import { distance, localTime, utcTime } from "../pure/format.ts";

interface TimeProps {
  readonly at: string | null | undefined;
  /** Without a time. */
  readonly none?: string;
}

export function Ago({ at, none = "–" }: TimeProps): JSX.Element {
  if (at === null || at === undefined) return <span class="quiet">{none}</span>;
  return (
    <time dateTime={at} title={both(at)} class="nowrap">
      {distance(at, nowMs.value)}
    </time>
  );
}

export function At({ at, none = "–" }: TimeProps): JSX.Element {
  if (at === null || at === undefined) return <span class="quiet">{none}</span>;
  return (
    <time dateTime={at} title={`${distance(at, nowMs.value)}, ${utcTime(at)}`} class="nowrap">
      {localTime(at)}
    </time>
  );
}

function both(at: string): string {
  const [local, utc] = [localTime(at), utcTime(at)];
  return local.endsWith(" UTC") ? local : `${local}, ${utc}`;
}
