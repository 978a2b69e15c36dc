/** Event streams: nothing lost, nothing twice, nobody buffered for; and the record of changes. */
import { createHash } from "node:crypto";
import { createConnection } from "node:net";
import { describe, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { ControlHarness, tokens } from "./support/control-harness.ts";

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
    return this.frames.map(({ data }) => Number(data.fields.cause));
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
const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

describe("event streams", () => {
  test("an event stream starts with new events and sends each as the list shows it", async () => {
    await using harness = await ControlHarness.open();
    await emit(harness, 0);
    await using client = await Client.open(harness);
    // Until a first one comes nobody knows from when on the stream listens.
    await until("an event comes", async () => {
      await emit(harness, 1);
      return client.frames.length > 0;
    });
    const [frame] = client.frames;
    expect(client.numbers).not.toContain(0);
    expect(frame).toMatchObject({
      event: "sync.failed",
      data: { id: frame?.id, type: "sync.failed", profile: "default" },
    });
    const list = await harness.ask("/v1/events?limit=1000", { as: "viewer" });
    const { events } = (await list.json()) as { events: Frame["data"][] };
    expect(events.find(({ id }) => id === frame?.id)).toEqual(frame?.data);
  });

  test("an event stream resumes at the last id without lost or duplicate events while new ones arrive", async () => {
    await using harness = await ControlHarness.open();
    await emitMany(harness, 0, 700);
    const seen: number[] = [];
    let lastId = "0-0";
    const lineEncoder = emitMany(harness, 700, 1_500);
    while (seen.length < 1_500) {
      await using client = await Client.open(harness, "/v1/events", lastId);
      const goal = Math.min(1_500 - seen.length, 100 + seen.length);
      await until(`${goal} more events came`, () => client.frames.length >= goal);
      // The client breaks off anywhere, with the last that it has taken.
      const taken = client.frames.slice(0, goal);
      seen.push(...taken.map(({ data }) => Number(data.fields.cause)));
      lastId = taken.at(-1)?.id ?? lastId;
    }
    await lineEncoder;
    expect(seen).toEqual(upTo(1_500));
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
    const metrics = await (await harness.ask("/metrics", { as: "viewer" })).text();
    expect(metrics).toMatch(/^simfleet_event_streams 20$/m);
    for (const client of clients) await client[Symbol.asyncDispose]();
    await until("they are gone", async () => {
      return /^simfleet_event_streams 0$/m.test(await (await harness.ask("/metrics", { as: "viewer" })).text());
    });
  });

  test("an event stream that is not read does not delay the others", async () => {
    await using harness = await ControlHarness.open();
    const { hostname, port } = new URL(harness.url);
    const stuck = createConnection({ host: hostname, port: Number(port) });
    stuck.pause();
    stuck.write(
      `GET /v1/events HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${tokens.viewer}\r\naccept: text/event-stream\r\nlast-event-id: 0-0\r\n\r\n`,
    );
    await using client = await Client.open(harness, "/v1/events", "0-0");
    const reason = "x".repeat(50_000);
    for (let n = 0; n < 200; n += 1) {
      await harness.app.kernel.feed.emit({
        type: "sync.failed",
        profile: "default",
        fields: { cause: String(n), reason },
      });
    }
    await until("the one that reads has all", () => client.frames.length >= 200);
    expect(client.numbers).toEqual(upTo(200));
    stuck.destroy();
  });
});

describe("event stream credentials", () => {
  const tokenLines = (name: string, more: string): string => {
    const hash = createHash("sha256").update(`sf_${name}`).digest("hex");
    return `    ${name}: { role: viewer, hash: "sha256:${hash}"${more} }\n`;
  };
  /** Resolves when the stream that was answered has ended. */
  const ended = async (answer: Response): Promise<string> => {
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
    return answer.text();
  };
  const headers = { accept: "text/event-stream" };

  test("an event stream ends when its credential expires while another stream continues", async () => {
    const expiresAtMs = Math.ceil(Date.now() / 1_000) * 1_000 + 3_000;
    const expires = new Date(expiresAtMs).toISOString().replace(".000Z", "Z");
    await using harness = await ControlHarness.open({ http: tokenLines("brief", `, expires: "${expires}"`) });
    await using other = await Client.open(harness);
    await ended(await harness.ask("/v1/events", { as: "sf_brief", headers }));
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAtMs);
    expect(Date.now()).toBeLessThan(expiresAtMs + 5_000);
    expect((await harness.ask("/v1/events", { as: "sf_brief", headers })).status).toBe(401);
    await harness.app.kernel.feed.emit({
      type: "sync.failed",
      profile: "default",
      fields: { cause: "1", reason: "x" },
    });
    await until("the other stream continues", () => other.frames.length === 1);
  });
});

describe("the audit log of the API", () => {
  interface Entry {
    readonly who: string | null;
    readonly action: string;
    readonly target: string | null;
    readonly status: number;
    readonly requestId: string;
    readonly from: string;
  }
  const entriesOf = async (harness: ControlHarness): Promise<Entry[]> => {
    const answer = await harness.ask("/v1/audit", { as: "admin" });
    return ((await answer.json()) as { entries: Entry[] }).entries;
  };

  test("the audit log records who did what, including refusals, without secrets, bodies, or queries", async () => {
    await using harness = await ControlHarness.open();
    const headers = { "content-type": "text/csv" };
    const started = await harness.ask("/v1/runs?name=private-name", {
      as: "operator",
      method: "POST",
      body: harness.csv(2),
      headers,
    });
    const { runId } = (await started.json()) as { runId: string };
    await harness.ask(`/v1/runs/${runId}/cancel`, { as: "viewer", method: "POST" });
    await harness.ask(`/v1/runs/${runId}/cancel`, { as: "operator", method: "POST" });
    await harness.ask(`/v1/runs/${runId}/cancel`, { as: "sf_wrong-secret", method: "POST" });
    await harness.ask("/v1/runs", { as: "viewer" });
    await until("all was written down", async () => (await entriesOf(harness)).length >= 4);
    const entries = await entriesOf(harness);
    const cancel = "POST /v1/runs/:runId/cancel";
    expect(entries.toReversed().map(({ who, action, target, status }) => [who, action, target, status])).toEqual([
      ["token:operator", "POST /v1/runs", runId, 202],
      ["token:viewer", cancel, runId, 403],
      ["token:operator", cancel, runId, 200],
      [null, cancel, runId, 401],
    ]);
    expect(entries[0]?.from).toBe("127.0.0.1");
    expect(entries.at(-1)?.requestId).toBe(started.headers.get("x-request-id"));
    const text = JSON.stringify(entries);
    expect(text).not.toMatch(/sf_|private-name/);
    expect(text).not.toContain(harness.simId(0));
  });

  test("the audit log cannot be flooded by clients without a token", async () => {
    await using harness = await ControlHarness.open();
    for (let n = 0; n < 130; n += 1) await harness.ask("/v1/syncs", { method: "POST" });
    await harness.ask("/v1/syncs", { as: "viewer", method: "POST" });
    await until("the last was written down", async () => (await entriesOf(harness))[0]?.who === "token:viewer");
    // Sixty a minute, in one minute or two.
    const answer = await harness.ask("/v1/audit?limit=1000", { as: "admin" });
    const { entries } = (await answer.json()) as { entries: Entry[] };
    expect(entries.length).toBeLessThanOrEqual(121);
    expect(entries.length).toBeGreaterThanOrEqual(61);
  });
});
