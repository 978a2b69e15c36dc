/**
 * Values of the control API that are polled while they are displayed: not while the page is hidden, and less often
 * while the server does not respond. The last known value stays visible meanwhile.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "./ask.ts";
import { type Problem, problemFrom } from "./pure/problem.ts";
import { onEvents } from "./stream.ts";

export interface Live<T> {
  readonly value: T | undefined;
  /** Why the last request failed; the value is then out of date. */
  readonly problem: Problem | undefined;
  /** Polls immediately. */
  readonly refresh: () => void;
  /** Stores a value that another response already contained. */
  readonly put: (value: T) => void;
}

export interface Every {
  readonly ms: number;
  /** Types of events, by prefix, that trigger an immediate poll. */
  readonly andOn?: readonly string[];
}

/** @param address what to request; undefined for nothing */
export function useLive<T>(address: string | undefined, every: Every): Live<T> {
  const [held, hold] = useState<{ address: string | undefined; value?: T; problem?: Problem }>({ address });
  const again = useRef<() => void>(() => undefined);
  const { ms, andOn = [] } = every;
  const watched = andOn.join(" ");

  useEffect(() => {
    if (address === undefined) return undefined;
    const stop = new AbortController();
    let timer = 0;
    let failures = 0;
    let asking = false;
    let isAskedAgain = false;
    const poll = async (): Promise<void> => {
      // The response in flight may be older than the event that triggered this poll.
      if (asking) isAskedAgain = true;
      if (asking || stop.signal.aborted) return;
      clearTimeout(timer);
      [asking, isAskedAgain] = [true, false];
      try {
        const value = await ask<T>(address, { signal: stop.signal });
        failures = 0;
        hold({ address, value });
      } catch (thrown) {
        if (stop.signal.aborted) return;
        failures += 1;
        const problem = problemFrom(thrown);
        hold((before) => (before.address === address ? { ...before, problem } : { address, problem }));
      } finally {
        asking = false;
      }
      if (stop.signal.aborted) return;
      if (isAskedAgain && failures === 0) void poll();
      else timer = setTimeout(soon, Math.min(30_000, ms * 2 ** Math.min(failures, 5)));
    };
    const soon = (): void => {
      if (!document.hidden) void poll();
    };
    again.current = () => void poll();
    document.addEventListener("visibilitychange", soon, { signal: stop.signal });
    const forget = onEvents((events) => {
      if (watched !== "" && events.some(({ type }) => watched.split(" ").some((one) => type.startsWith(one)))) soon();
    });
    void poll();
    return () => {
      clearTimeout(timer);
      forget();
      stop.abort();
    };
  }, [address, ms, watched]);

  const isOfAddress = held.address === address;
  return {
    value: isOfAddress ? held.value : undefined,
    problem: isOfAddress ? held.problem : undefined,
    refresh: () => again.current(),
    put: (value) => hold({ address, value }),
  };
}
