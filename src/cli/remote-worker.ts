/**
 * A remote worker, called through its control API: the client of commands with `--server`, and its events. Its errors are
 * thrown with the same code as local ones.
 */
import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import type { ErrorCode, Problem } from "#core/errors.ts";
import { ConfigError, IntakeError, SimfleetError, errorCatalogue, messageOf } from "#core/errors.ts";
import { openFile } from "#core/files/open-file.ts";
import type { Secret } from "#core/secret.ts";
import { type Clock, secondMs, systemClock } from "#core/time.ts";
import { createParser } from "eventsource-parser";
import { type EventDocument, listEvents } from "#events/contract.ts";
import { isAfter } from "#events/event.ts";
import { beforeAll } from "#events/feed.ts";
import type { EventChoice, EventSource } from "./event-source.ts";
import { clientOf } from "#contract/client.ts";
import type { RowsRequest } from "#contract/route.ts";

type Parameters = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

interface RequestOptions {
  readonly query?: Parameters | undefined;
  /** JSON, or a stream of CSV. */
  readonly body?: object | ReadableStream | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export type RemoteWorker = ReturnType<typeof remoteWorker>;

/** @param options `profile`: the account that commands are about; undefined: the worker's default */
export function remoteWorker({
  url: given,
  token,
  profile,
  interrupt,
}: {
  url: string;
  token: Secret;
  profile: string | undefined;
  interrupt: AbortSignal;
}) {
  const url = given.replace(/\/+$/, "");

  /** The error of a failed or lost connection; an abort by Ctrl-C is passed through. */
  const unavailable = (thrown: unknown): unknown => {
    if (interrupt.aborted) return thrown;
    const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown;
    return new SimfleetError("WORKER_UNREACHABLE", `No response from the worker at ${url}: ${messageOf(cause)}`);
  };

  /** An idempotency key makes sure that a request that creates something takes effect once. */
  const request = async (method: string, path: string, options: RequestOptions): Promise<Response> => {
    const { query = {}, body, headers: further } = options;
    const isFile = body instanceof ReadableStream;
    const headers: Record<string, string> = { ...further, authorization: `Bearer ${token.reveal()}` };
    if (method === "POST") headers["idempotency-key"] = randomUUID();
    if (body !== undefined) headers["content-type"] = isFile ? "text/csv" : "application/json";
    const init: RequestInit = {
      method,
      headers,
      redirect: "error",
      signal: interrupt,
      duplex: "half",
      body: isFile ? body : body === undefined ? null : JSON.stringify(body),
    };
    const answer = await fetch(`${url}${path}${textOf(query)}`, init).catch((thrown: unknown) => {
      throw unavailable(thrown);
    });
    if (!answer.ok) throw await refusalOf(answer, url);
    return answer;
  };

  /** A streamed response, as it arrives. */
  async function* text(
    path: string,
    query: Parameters = {},
    headers: Readonly<Record<string, string>> = {},
  ): AsyncGenerator<string> {
    const { body } = await request("GET", path, { query, headers });
    const decoder = new TextDecoder();
    try {
      for await (const chunk of body ?? []) yield decoder.decode(chunk as Uint8Array, { stream: true });
    } catch (thrown) {
      throw unavailable(thrown);
    }
  }

  const client = clientOf(async (route, { params = {}, query = {}, body, rows }) => {
    const path = `/v1${route.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name])))}`;
    const asked = query as Parameters;
    if (route.answer === "lines") return text(path, asked);
    const sent = rows === undefined ? body : "file" in rows ? await streamOf(rows) : rows;
    const answer = await request(route.method, path, { query: asked, body: sent as RequestOptions["body"] });
    return route.status === 204 ? undefined : answer.json();
  });

  return { client, profile, text };
}

async function refusalOf(answer: Response, url: string): Promise<SimfleetError> {
  const problem = (await answer.json().catch(() => ({}))) as { code?: unknown; detail?: unknown; problems?: unknown };
  if (problem.code === "CONFIG_INVALID") return new ConfigError(problem.problems as readonly Problem[]);
  if (typeof problem.code === "string" && Object.hasOwn(errorCatalogue, problem.code)) {
    return new SimfleetError(problem.code as ErrorCode, String(problem.detail));
  }
  return new SimfleetError("WORKER_UNREACHABLE", `${url} is not a simfleet worker (HTTP ${answer.status})`);
}

function textOf(query: Parameters): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value ?? []].flat()) parameters.append(name, String(one));
  }
  return parameters.size === 0 ? "" : `?${parameters.toString()}`;
}

/** @throws IntakeError when the file cannot be read */
async function streamOf({ file, read }: Extract<RowsRequest, { file: string }>): Promise<ReadableStream> {
  if (read !== undefined) return Readable.toWeb(Readable.from(read(), { objectMode: false })) as ReadableStream;
  const handle = await openFile(file, { links: "follow" }).catch((thrown: unknown) => {
    throw new IntakeError(`The file ${file} cannot be read: ${messageOf(thrown)}`, { cause: thrown });
  });
  return Readable.toWeb(handle.createReadStream()) as ReadableStream;
}

// Events of a remote worker: its list for the most recent ones, its event stream (server-sent events) for everything after
// some point. An interrupted stream resumes after the last received event.

const againAfterMs = 2 * secondMs;
const streamPath = `/v1${listEvents.path}`;

/** @param how `say`: reports to the user that the connection was lost */
export function remoteEvents(
  worker: Pick<RemoteWorker, "client" | "text">,
  { types, profile }: EventChoice,
  how: { interrupt: AbortSignal; say: (text: string) => void; clock?: Clock },
): EventSource {
  const { interrupt, say, clock = systemClock } = how;
  const query = { type: types === undefined ? undefined : [...types], profile };
  const newest = async (limit: number): Promise<readonly EventDocument[]> =>
    (await worker.client.call(listEvents, { query: { ...query, limit } })).events;
  const stream = (id: string): AsyncGenerator<readonly EventDocument[]> =>
    documentsIn(worker.text(streamPath, query, { accept: "text/event-stream", "last-event-id": id }));
  return {
    async last(max) {
      // A page has at most a thousand events, which is enough for a terminal.
      const events = await newest(Math.min(max, 1_000));
      return { events: events.toReversed(), lastId: events[0]?.id ?? beforeAll };
    },
    async *after(id) {
      const [head] = await newest(1);
      if (head === undefined || !isAfter(head.id, id)) return;
      // The stream does not end: stop at the event that was the newest when it started.
      for await (const events of stream(id)) {
        yield events.filter((event) => !isAfter(event.id, head.id));
        if (events.some((event) => !isAfter(head.id, event.id))) return;
      }
      throw new SimfleetError("WORKER_UNREACHABLE", "The worker ended the event stream before the newest event");
    },
    async *follow(id) {
      let lastId = id;
      while (!interrupt.aborted) {
        try {
          for await (const events of stream(lastId)) {
            yield events;
            lastId = events.at(-1)?.id ?? lastId;
          }
        } catch (thrown) {
          if (interrupt.aborted) return;
          if (!(thrown instanceof SimfleetError && thrown.code === "WORKER_UNREACHABLE")) throw thrown;
          say(`${thrown.message}. Trying again …`);
        }
        await clock.sleep(againAfterMs, interrupt).catch(() => undefined);
      }
    },
  };
}

/** The events in the text of a stream, as they arrive; heartbeats have none. */
async function* documentsIn(text: AsyncIterable<string>): AsyncGenerator<readonly EventDocument[]> {
  let documents: EventDocument[] = [];
  const parser = createParser({ onEvent: ({ data }) => documents.push(JSON.parse(data) as EventDocument) });
  for await (const chunk of text) {
    parser.feed(chunk);
    if (documents.length > 0) yield documents;
    documents = [];
  }
}
