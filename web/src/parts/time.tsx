/** Timestamps, relative to now, with local time and UTC in the tooltip. */
import type { JSX } from "preact";
import { nowMs } from "../clock.ts";
import { distance, localTime, utcTime } from "../pure/format.ts";

export function Ago({ at, none = "–" }: { at: string | null | undefined; none?: string }): JSX.Element {
  if (at === null || at === undefined) return <span class="quiet">{none}</span>;
  return (
    <time dateTime={at} title={`${localTime(at)} (${utcTime(at)})`} class="nowrap">
      {distance(at, nowMs.value)}
    </time>
  );
}

export function At({ at, none = "–" }: { at: string | null | undefined; none?: string }): JSX.Element {
  if (at === null || at === undefined) return <span class="quiet">{none}</span>;
  return (
    <time dateTime={at} title={utcTime(at)} class="nowrap">
      {localTime(at)}
    </time>
  );
}
