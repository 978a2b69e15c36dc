/**
 * The event stream of the worker, read while somebody is signed in: one for the page, shared by all listeners. After a
 * disconnect it resumes after the last event received, so that nothing is missed. The browser's own EventSource cannot
 * send an Authorization header, and a token does not belong in an address.
 */
import { effect, signal } from "@preact/signals";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { send } from "./ask.ts";
import { reconnectDelayMs } from "./pure/reconnect-delay.ts";
import type { FleetEvent } from "./pure/shapes.ts";
import { session } from "./session.ts";

export type Connection =
  | { readonly state: "opening" | "live" }
  | { readonly state: "lost"; readonly retryAtMs: number };

export const connection = signal<Connection>({ state: "opening" });

type Listener = (events: readonly FleetEvent[]) => void;
const listeners = new Set<Listener>();

/** @returns a function that unsubscribes */
export function onEvents(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Heartbeats come every 15 s; a stream that is silent for longer is considered broken. */
const longestSilenceMs = 40_000;

export function followEvents(): void {
  effect(() => {
    if (session.value === undefined) return undefined;
    const stop = new AbortController();
    void keepReading(stop.signal);
    return () => stop.abort();
  });
}

async function keepReading(stop: AbortSignal): Promise<void> {
  let lastId = "";
  for (let tries = 0; !stop.aborted; tries += 1) {
    const onMessage = (messages: readonly EventSourceMessage[]): void => {
      tries = 0;
      lastId = messages.findLast(({ id }) => id !== undefined)?.id ?? lastId;
      dispatch(messages);
    };
    await read(lastId, { stop, onMessage, onOpen: () => (tries = 0) }).catch(() => undefined);
    if (stop.aborted) return;
    const delayMs = reconnectDelayMs(tries, Math.random());
    connection.value = { state: "lost", retryAtMs: Date.now() + delayMs };
    await pause(delayMs, stop);
  }
}

interface Reading {
  readonly stop: AbortSignal;
  readonly onOpen: () => void;
  readonly onMessage: (messages: readonly EventSourceMessage[]) => void;
}

async function read(lastId: string, { stop, onOpen, onMessage }: Reading): Promise<void> {
  const silence = new AbortController();
  let timer = 0;
  const heard = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), longestSilenceMs);
  };
  heard();
  try {
    const response = await send("/v1/events", {
      headers: { accept: "text/event-stream", ...(lastId === "" ? {} : { "last-event-id": lastId }) },
      signal: AbortSignal.any([stop, silence.signal]),
    });
    if (response.body === null) return;
    connection.value = { state: "live" };
    onOpen();
    let messages: EventSourceMessage[] = [];
    const parser = createParser({ onEvent: (message) => messages.push(message) });
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      messages = [];
      parser.feed(decoder.decode(value, { stream: true }));
      if (messages.length > 0) onMessage(messages);
    }
  } finally {
    clearTimeout(timer);
  }
}

function dispatch(messages: readonly EventSourceMessage[]): void {
  const events = messages.flatMap(({ data }) => {
    try {
      return [JSON.parse(data) as FleetEvent];
    } catch {
      return [];
    }
  });
  if (events.length > 0) for (const listener of listeners) listener(events);
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      removeEventListener("online", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    addEventListener("online", end, { once: true });
    stop.addEventListener("abort", end, { once: true });
  });
}
