/** The search of the explorer, and its counts: both wait until the person pauses. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { addressOf } from "../../ask.ts";
import { type Live, useLive } from "../../live.ts";
import { type Shown, queryOfShown } from "../../pure/sims/explorer.ts";
import type { SimCount } from "../../pure/shapes.ts";
import { profile } from "../../session.ts";

const searchLabel = (keyColumn: string) =>
  keyColumn === "imsi" ? "Search by IMSI or SIM ID" : "Search by SIM ID or IMSI";

const pauseMs = 250;

/** The number of SIMs, a moment after the last key. */
export function useCount(shown: Shown | undefined): Live<SimCount> {
  const { sort: _, ...query } = shown === undefined ? { sort: "" } : queryOfShown(shown);
  const wanted = shown === undefined ? undefined : addressOf("/v1/sims/count", { ...query, profile: profile.value });
  const settled = useSettled(wanted, pauseMs);
  return useLive<SimCount>(settled, { ms: 60_000, andOn: ["sync.completed"] });
}

/** A value once it has not changed for a while. */
export function useSettled<T>(value: T, ms: number): T {
  const [settled, settle] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => settle(value), ms);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

interface SearchProps {
  readonly search: string;
  readonly keyColumn: string;
  readonly onSearch: (search: string) => void;
}

export function SearchField({ search, keyColumn, onSearch }: SearchProps): JSX.Element {
  const [written, setWritten] = useState(search);
  const settled = useSettled(written, pauseMs);
  useEffect(() => setWritten(search), [search]);
  useEffect(() => {
    if (settled === written && settled.trim() !== search) onSearch(settled.trim());
  }, [settled]);
  return (
    <form role="search" onSubmit={(event) => event.preventDefault()}>
      <input
        class="input"
        type="search"
        aria-label={searchLabel(keyColumn)}
        placeholder={searchLabel(keyColumn)}
        maxLength={100}
        value={written}
        onInput={(event) => setWritten(event.currentTarget.value)}
      />
    </form>
  );
}
