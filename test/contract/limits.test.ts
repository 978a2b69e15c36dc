/** What a client that nobody knows can use up: guesses of tokens, connections, and time. */
import { createConnection, type Socket } from "node:net";
import { Readable } from "node:stream";
import { afterAll, describe, expect, test, vi } from "vitest";
import { isLong, seeds } from "../support/long.ts";
import { until } from "../support/until.ts";
import { answerOf, ControlHarness, tokens } from "./support/control-harness.ts";

const megabytes = seeds(10, 100);

const sockets: Socket[] = [];
afterAll(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

interface Client {
  readonly socket: Socket;
  /** What the server has sent so far. */
  text: string;
  isClosed: boolean;
}

/** A connection that sends this and then nothing more. */
function connect(harness: ControlHarness, sent = ""): Promise<Client> {
  const { hostname, port } = new URL(harness.url);
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: hostname, port: Number(port) });
    const client: Client = { socket, text: "", isClosed: false };
    sockets.push(socket);
    socket.on("data", (bytes) => (client.text += bytes.toString()));
    socket.on("close", () => (client.isClosed = true));
    socket.on("error", reject);
    socket.on("connect", () => {
      // A connection that the server ends is no fault of this test from here on.
      socket.removeListener("error", reject);
      socket.on("error", () => undefined);
      if (sent !== "") socket.write(sent);
      resolve(client);
    });
  });
}

const head = (harness: ControlHarness, ...lines: readonly string[]): string =>
  [...lines, `host: ${new URL(harness.url).host}`, "", ""].join("\r\n");

function upload(harness: ControlHarness, path: string, rows: Iterable<Buffer> | AsyncIterable<string>) {
  const body = Readable.toWeb(Readable.from(rows)) as ReadableStream;
  const headers = { "content-type": "text/csv" };
  return harness.ask(path, { as: "operator", method: "POST", headers, body, duplex: "half" });
}

// Those that wait longest start first, together.
test
  .runIf(isLong)
  .concurrent("an authenticated request may take longer than ten seconds to send its body", async () => {
    await using harness = await ControlHarness.open();
    const rows = async function* (): AsyncGenerator<string> {
      yield "simId,speedClass\n";
      for (let n = 0; n < 12; n += 1) {
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        yield `${harness.simId(n)},s1.fast\n`;
      }
    };
    expect(await answerOf(upload(harness, "/v1/plans", rows()))).toMatchObject([201, { rows: 12 }]);
  });

test.runIf(isLong).concurrent("a connection that sends no complete header is closed after ten seconds", async () => {
  await using harness = await ControlHarness.open();
  const slow = [await connect(harness), await connect(harness, "GET /healthz HTTP/1.1\r\nx-a: ")];
  await until("both are closed", () => slow.every(({ isClosed }) => isClosed));
});

test.runIf(isLong).concurrent("a schedule message with an endless body is aborted after ten seconds", async () => {
  await using harness = await ControlHarness.open();
  const lines = ["POST /v1/triggers/nightly HTTP/1.1", "content-type: application/json", "content-length: 1000"];
  const client = await connect(harness, `${head(harness, ...lines)}{`);
  await until("it is closed", () => client.isClosed);
});

/** A worker that has refused sixty wrong tokens of one address. @returns the statuses as well */
async function setupGuessed() {
  const harness = await ControlHarness.open();
  const statuses: number[] = [];
  for (let n = 0; n < 60; n += 1) statuses.push((await harness.ask("/v1/me", { as: `sf_wrong-${n}` })).status);
  return Object.assign(harness, { statuses });
}

// Shows S10.
describe.concurrent("token guessing", () => {
  test("wrong tokens get a 429 from the 21st in a minute on, which says when to try again", async () => {
    await using harness = await setupGuessed();
    expect(harness.statuses.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 401));
    // A minute may have ended in between; then the count starts again.
    expect(harness.statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(20);
    const guess = () => harness.ask("/v1/me", { as: "sf_wrong" });
    let refused = await guess();
    for (let n = 0; refused.status !== 429 && n < 30; n += 1) refused = await guess();
    expect(await answerOf(refused)).toMatchObject([429, { code: "TOO_MANY_REQUESTS" }]);
    const seconds = Number(refused.headers.get("retry-after"));
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThanOrEqual(60);
  });

  test("a forged message for a schedule counts as a wrong token, and a valid one of the same address works", async () => {
    await using harness = await setupGuessed();
    const forge = async () => (await harness.ask("/v1/triggers/nightly", { method: "POST", body: "{}" })).status;
    await until("it is refused as one guess too many", async () => (await forge()) === 429);
    expect((await harness.ask("/v1/me", { as: "viewer" })).status).toBe(200);
    expect((await harness.ask("/healthz")).status).toBe(200);
  });
});

// Shows S11.
describe.concurrent("connection limits", () => {
  test("connections of unknown clients are closed for newer ones and never block a known client", async () => {
    await using harness = await ControlHarness.open();
    const idle: Client[] = [];
    // Fewer at once than the system lets wait for the server: it is slow to try again.
    while (idle.length < 1_500) {
      idle.push(...(await Promise.all(Array.from({ length: 250 }, () => connect(harness)))));
    }
    const areMostClosed = (): boolean => idle.filter(({ isClosed }) => !isClosed).length <= 512;
    await until("most of them are closed", areMostClosed);
    expect((await harness.ask("/v1/me", { as: "viewer" })).status).toBe(200);
  });

  test("the connections of known clients are limited, and health is answered beside them", async () => {
    await using harness = await ControlHarness.open({ http: "  connections: 20\n" });
    const lines = ["GET /v1/events HTTP/1.1", "accept: text/event-stream", `authorization: Bearer ${tokens.viewer}`];
    const begin = (): Promise<Client> => connect(harness, head(harness, ...lines));
    const streams = await Promise.all(Array.from({ length: 30 }, begin));
    await until("each has its answer or is closed", () =>
      streams.every(({ text, isClosed }) => isClosed || text.startsWith("HTTP/1.1 200")),
    );
    expect(streams.filter(({ isClosed }) => !isClosed).length).toBe(20);
    expect(streams.filter(({ text }) => text.startsWith("HTTP/1.1 503")).length).toBe(10);
    expect((await harness.ask("/healthz")).status).toBe(200);
  });
});

/** Holds every read of the list of runs back until `release`. */
function holdReads({ runs }: ControlHarness) {
  const list = runs.list.bind(runs);
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const reads = { now: 0, peak: 0, count: 0 };
  vi.spyOn(runs, "list").mockImplementation(async (query) => {
    reads.now += 1;
    reads.count += 1;
    reads.peak = Math.max(reads.peak, reads.now);
    await promise;
    reads.now -= 1;
    return list(query);
  });
  return { reads, release };
}

test("a burst of reads is answered a few at a time, and one whose caller has gone is left out", async () => {
  await using harness = await ControlHarness.open();
  const { reads, release } = holdReads(harness);
  const client = new AbortController();
  const ask = (init: RequestInit = {}): Promise<Response> => harness.ask("/v1/runs", { as: "viewer", ...init });
  const first = Array.from({ length: 100 }, () => ask());
  await until("the first ones are read", () => reads.now > 0);
  const gone = ask({ signal: client.signal });
  await until("all wait", async () => (await harness.ask("/v1/me", { as: "viewer" })).ok && reads.now >= 8);
  client.abort();
  await expect(gone).rejects.toThrow("aborted");
  release();
  expect((await Promise.all(first)).map(({ status }) => status)).toEqual(Array.from({ length: 100 }, () => 200));
  expect(reads).toMatchObject({ peak: 8, count: 100 });
});

const harness = await ControlHarness.ofFile();

describe.concurrent("endless request bodies", () => {
  test.each([
    ["of a request without a token", "POST /v1/runs HTTP/1.1", "text/csv"],
    ["of a form without a token", "POST /v1/plans HTTP/1.1", "multipart/form-data; boundary=x"],
    ["to a path that does not exist", "POST /nothing HTTP/1.1", "text/csv"],
    ["to a page that is open", "GET / HTTP/1.1", "text/plain"],
  ])("an endless body %s is aborted once it is answered", async (_, line, type) => {
    const client = await connect(
      harness,
      `${head(harness, line, `content-type: ${type}`, "content-length: 1000000")}a`,
    );
    await until("it has its answer", () => client.text.startsWith("HTTP/1.1 "));
    await until("it is closed", () => client.isClosed);
  });

  test(`a file of ${megabytes} MB from a known client is accepted`, { timeout: 600_000 }, async () => {
    const line = Buffer.from(`${harness.simId(0)},s1.fast,${"x".repeat(10_000)}\n`);
    const rows = function* (): Generator<Buffer> {
      yield Buffer.from("simId,speedClass,note\n");
      for (let sent = 0; sent < megabytes * 1_000_000; sent += line.length) yield line;
    };
    const answer = await answerOf(upload(harness, "/v1/plans?partial=true", rows()));
    expect(answer).toMatchObject([201, { rows: expect.any(Number) }]);
  });
});
