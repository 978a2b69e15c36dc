/** A client that takes nothing from its event stream is cut off after half a minute; one that takes it late is not. */
import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import fastify, { type FastifyInstance } from "fastify";
import { afterEach, expect, test } from "vitest";
import { SimfleetError } from "#core/errors.ts";
import { yieldToEventLoop } from "#core/time.ts";
import type { Event } from "#events/event.ts";
import type { Access, Principal } from "#http/auth/access.ts";
import { type EventStreams, eventStreams } from "#http/event-streams.ts";
import { createLogger } from "#telemetry/logger.ts";
import { until } from "../../support/until.ts";
import { ManualClock } from "../../support/manual-clock.ts";

/** More than what lies between two sockets of a machine holds, so that it only leaves when it is read. */
const muchText = "x".repeat(64 * 1_024 * 1_024);

const eventOf = (n: number, reason: string): Event => ({
  id: `1-${n}`,
  type: "sync.failed",
  atMs: 1,
  profile: "default",
  fields: {
    cause: String(n),
    reason,
  },
});

async function* twoEvents(_fromId: string | undefined, signal: AbortSignal): AsyncGenerator<readonly Event[]> {
  yield [eventOf(1, muchText)];
  yield [eventOf(2, "the last")];
  if (!signal.aborted) await once(signal, "abort");
}

interface Harness {
  readonly clock: ManualClock;
  readonly streams: EventStreams;
  readonly client: Socket;
  readonly log: string[];
}

let server: FastifyInstance | undefined;
afterEach(() => server?.close());

/** A stream whose client does not read. */
async function setup(follow: typeof twoEvents = twoEvents): Promise<Harness> {
  const clock = new ManualClock();
  const log: string[] = [];
  const logger = createLogger({ level: "warn", destination: { write: (text: string) => log.push(text) } });
  const streams = eventStreams({ tail: { follow }, clock, logger });
  server = fastify({ forceCloseConnections: true });
  server.get("/", (request, reply) => {
    void streams.serve(request, reply, { types: undefined, profile: undefined, fromId: undefined });
    return reply;
  });
  await server.listen({ host: "127.0.0.1", port: 0 });
  const address = server.server.address();
  const client = createConnection({ host: "127.0.0.1", port: typeof address === "object" ? (address?.port ?? 0) : 0 });
  client.on("error", () => undefined).pause();
  client.write("GET / HTTP/1.1\r\nhost: here\r\n\r\n");
  await until("the stream waits for its client", () => clock.sleepers === 1);
  return { clock, streams, client, log };
}

/** Lets everything that can happen without the client happen. */
async function turns(): Promise<void> {
  for (let n = 0; n < 1_000; n += 1) await yieldToEventLoop();
}

/** The numbers of the events that a client reads, which grow. */
function numbersFrom(client: Socket): number[] {
  const seen: number[] = [];
  let rest = "";
  client.on("data", (chunk: Buffer) => {
    rest += chunk.toString("latin1").replaceAll(/x{100,}/g, "");
    for (const [, n] of rest.matchAll(/^id: 1-(\d+)\n/gm)) seen.push(Number(n));
    rest = rest.slice(rest.lastIndexOf("\n") + 1);
  });
  return seen;
}

test("an event stream is closed and logged when its client reads nothing for 30 s", async () => {
  const { clock, streams, client, log } = await setup();
  clock.pass(29_999);
  expect(streams.count()).toBe(1);
  clock.pass(1);
  await until("the stream is gone", () => streams.count() === 0);
  client.resume();
  await once(client, "close");
  expect(log.join("")).toContain("the client takes nothing");
});

test("an event stream continues when its client reads the backlog within 30 s", async () => {
  const { clock, streams, client, log } = await setup();
  clock.pass(29_999);
  let end = "";
  client.on("data", (chunk: Buffer) => (end = (end + chunk.toString("latin1")).slice(-1_000)));
  client.resume();
  await until("the second event has come", () => end.includes("the last"));
  clock.pass(60_000);
  expect([streams.count(), log]).toEqual([1, []]);
  client.destroy();
  await until("the stream is gone", () => streams.count() === 0);
});

const last = 100;

/** A stream of large events that stands still, since its client does not read. */
async function setupBacklog() {
  let asked = 0;
  const opened = await setup(async function* (_fromId, signal) {
    for (asked = 1; asked <= last; asked += 1) yield [eventOf(asked, "x".repeat(512 * 1_024))];
    if (!signal.aborted) await once(signal, "abort");
  });
  for (let before = -1; before !== asked;) {
    before = asked;
    await turns();
  }
  return { ...opened, asked: () => asked };
}

test("an event stream requests no further events while its client does not read", async () => {
  const { asked } = await setupBacklog();
  const askedUntilFull = asked();
  // More than any socket takes, so that it stands still long before the last.
  expect(askedUntilFull).toBeLessThan(last / 2);
  await turns();
  expect(asked()).toBe(askedUntilFull);
});

test("an event stream loses no event when its client reads late", async () => {
  const { streams, client } = await setupBacklog();
  const seen = numbersFrom(client);
  client.resume();
  await until("all have come", () => seen.at(-1) === last);
  expect(seen).toEqual(Array.from({ length: last }, (_, i) => i + 1));
  client.destroy();
  await until("the stream is gone", () => streams.count() === 0);
});

/** A stream without events, whose caller is known until an instant. */
async function openFor(caller: {
  expiresAtMs?: number;
  access?: Pick<Access, "principalOf">;
}): Promise<{ clock: ManualClock; streams: EventStreams; ended: Promise<string> }> {
  const clock = new ManualClock();
  const follow = async function* (_fromId: string | undefined, signal: AbortSignal): AsyncGenerator<readonly Event[]> {
    if (!signal.aborted) await once(signal, "abort");
    yield* [];
  };
  const { expiresAtMs, access } = caller;
  const logger = createLogger({ level: "silent" });
  const streams = eventStreams({ tail: { follow }, clock, logger, ...(access && { access }) });
  server = fastify({ forceCloseConnections: true });
  server.decorateRequest("principal", undefined);
  server.get("/", (request, reply) => {
    const ends = expiresAtMs === undefined ? {} : { expiresAtMs: clock.wallMs() + expiresAtMs };
    request.principal = { name: "ci", role: "viewer", kind: "jwt", ...ends };
    void streams.serve(request, reply, { types: undefined, profile: undefined, fromId: undefined });
    return reply;
  });
  const url = await server.listen({ host: "127.0.0.1", port: 0 });
  const answer = await fetch(url, { headers: { authorization: "Bearer a.b.c" } });
  return { clock, streams, ended: answer.text() };
}

test("an event stream ends exactly when its credential expires", async () => {
  const { clock, streams, ended } = await openFor({ expiresAtMs: 90_000 });
  clock.pass(60_000);
  await until("the rest is waited for", () => clock.sleepers === 1);
  clock.pass(29_999);
  expect(streams.count()).toBe(1);
  clock.pass(1);
  await ended;
  expect(streams.count()).toBe(0);
});

test("an event stream ends when its credential is no longer valid and stays open while validity is unknown", async () => {
  let refusal: SimfleetError | undefined;
  const principalOf = (): Promise<Principal> =>
    refusal === undefined ? Promise.resolve({ name: "ci", role: "viewer", kind: "jwt" }) : Promise.reject(refusal);
  const { streams, ended } = await openFor({ access: { principalOf } });
  await streams.recheck();
  refusal = new SimfleetError("OVERLOADED", "The keys cannot be fetched just now");
  await streams.recheck();
  expect(streams.count()).toBe(1);
  refusal = new SimfleetError("UNAUTHENTICATED", "The key was taken back");
  await streams.recheck();
  await ended;
  expect(streams.count()).toBe(0);
});
