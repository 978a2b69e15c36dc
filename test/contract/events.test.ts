/** Event streams: nothing lost, nothing twice; and the words that select events. */
import { describe, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { answerOf, ControlHarness } from "./support/control-harness.ts";

interface Frame {
  readonly id: string;
  readonly event: string;
  readonly data: {
    readonly id: string;
    readonly type: string;
    readonly profile: string;
    readonly fields: Record<string, string>;
  };
}

/** A client of a stream, that gathers what it is sent. */
class Client implements AsyncDisposable {
  readonly frames: Frame[] = [];
  comments = 0;
  readonly #stop = new AbortController();
  #reading: Promise<void> = Promise.resolve();

  static async open(harness: ControlHarness, path = "/v1/events", lastId?: string): Promise<Client> {
    const client = new Client();
    const headers = { accept: "text/event-stream", ...(lastId === undefined ? {} : { "last-event-id": lastId }) };
    const answer = await harness.ask(path, { as: "viewer", headers, signal: client.#stop.signal });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    client.#reading = client.#read(answer).catch(() => undefined);
    await until("the stream is open", () => client.comments > 0);
    return client;
  }

  async #read(answer: Response): Promise<void> {
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of answer.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      const parts = text.split("\n\n");
      text = parts.pop() ?? "";
      for (const part of parts) this.#take(part);
    }
  }

  #take(part: string): void {
    if (part.startsWith(":")) {
      this.comments += 1;
      return;
    }
    const [, id = "", event = "", data = ""] = /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(part) ?? [];
    this.frames.push({ id, event, data: JSON.parse(data) as Frame["data"] });
  }

  get numbers(): number[] {
    return numbersOf(this.frames);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#reading;
  }
}

const emit = (harness: ControlHarness, n: number, profile = "default"): Promise<void> =>
  harness.app.kernel.feed.emit({ type: "sync.failed", profile, fields: { cause: String(n), reason: "x" } });
const emitMany = async (harness: ControlHarness, from: number, to: number): Promise<void> => {
  for (let n = from; n < to; n += 1) await emit(harness, n);
};
const numbersOf = (frames: readonly Frame[]): number[] => frames.map(({ data }) => Number(data.fields.cause));
const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

async function eventsOf(harness: ControlHarness, query: string): Promise<Frame["data"][]> {
  const [status, document] = await answerOf(harness.ask(`/v1/events?${query}`, { as: "viewer" }));
  expect(status).toBe(200);
  return (document as { events: Frame["data"][] }).events;
}

describe("event streams", () => {
  test("an event stream starts with new events and sends each as the list shows it", async () => {
    await using harness = await ControlHarness.open();
    await emit(harness, 0);
    await using client = await Client.open(harness);
    // Until a first one comes nobody knows from when on the stream listens.
    const emitOne = () => emit(harness, 1);
    await until("an event comes", () => emitOne().then(() => client.frames.length > 0));
    const [frame] = client.frames;
    expect(client.numbers).not.toContain(0);
    const data = { id: frame?.id, type: "sync.failed", profile: "default" };
    expect(frame).toMatchObject({ event: "sync.failed", data });
    const events = await eventsOf(harness, "limit=1000");
    expect(events.find(({ id }) => id === frame?.id)).toEqual(frame?.data);
  });

  test("an event stream resumes at the last id without lost or duplicate events while new ones arrive", async () => {
    await using harness = await ControlHarness.open();
    await emitMany(harness, 0, 700);
    const seen: Frame[] = [];
    const emitting = emitMany(harness, 700, 1_500);
    while (seen.length < 1_500) {
      await using client = await Client.open(harness, "/v1/events", seen.at(-1)?.id ?? "0-0");
      const goal = Math.min(1_500 - seen.length, 100 + seen.length);
      await until(`${goal} more events came`, () => client.frames.length >= goal);
      // The client breaks off anywhere, with the last that it has taken.
      seen.push(...client.frames.slice(0, goal));
    }
    await emitting;
    expect(numbersOf(seen)).toEqual(upTo(1_500));
  });

  test("an event stream contains only the requested types and profile since a given time", async () => {
    await using harness = await ControlHarness.open();
    await emit(harness, 0);
    await emit(harness, 1, "plant");
    await harness.app.kernel.feed.emit({ type: "sync.completed", profile: "default", fields: { cause: "2" } });
    await emit(harness, 3);
    await using client = await Client.open(
      harness,
      "/v1/events?type=sync.failed&profile=default&since=2026-01-01T00:00:00Z",
    );
    await until("they came", () => client.frames.length >= 2);
    expect(client.numbers).toEqual([0, 3]);
  });

  test("an event stream is not resumed at what is no id", async () => {
    await using harness = await ControlHarness.open();
    const wrong = { accept: "text/event-stream", "last-event-id": "yesterday" };
    expect((await harness.ask("/v1/events", { as: "viewer", headers: wrong })).status).toBe(400);
    const tooLarge = { ...wrong, "last-event-id": "1-18446744073709551616" };
    expect((await harness.ask("/v1/events", { as: "viewer", headers: tooLarge })).status).toBe(400);
  });

  test("all event streams share one Redis reader and receive the same events", async () => {
    await using harness = await ControlHarness.open();
    const clients = await Promise.all(upTo(20).map(() => Client.open(harness, "/v1/events", "0-0")));
    await emitMany(harness, 0, 50);
    for (const client of clients) {
      await until("all came", () => client.frames.length >= 50);
      expect(client.numbers).toEqual(upTo(50));
    }
    const metrics = async () => (await harness.ask("/metrics", { as: "viewer" })).text();
    expect(await metrics()).toMatch(/^simfleet_event_streams 20$/m);
    for (const client of clients) await client[Symbol.asyncDispose]();
    await until("they are gone", async () => /^simfleet_event_streams 0$/m.test(await metrics()));
  });
});

test("events are selected by a pattern and an age, as on the command line", async () => {
  await using harness = await ControlHarness.open();
  const { feed } = harness.app.kernel;
  await feed.emit({ type: "run.stalled", profile: "default", fields: { run: "r-1", reason: "x" } });
  await feed.emit({ type: "sync.failed", profile: "default", fields: { cause: "s-1", reason: "x" } });
  const typesOf = async (query: string) => (await eventsOf(harness, query)).map(({ type }) => type);
  expect(await typesOf("type=run.*&since=90m")).toEqual(["run.stalled"]);
  expect(await typesOf("type=run.*&type=sync.failed&since=24h")).toEqual(["sync.failed", "run.stalled"]);
  expect(await typesOf("since=2100-01-01T00:00:00Z")).toEqual([]);
  const refused = await answerOf(harness.ask("/v1/events?type=runs.*", { as: "viewer" }));
  expect(refused).toMatchObject([400, { problems: [{ where: "query.type" }] }]);
});
