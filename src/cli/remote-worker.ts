/**
 * A remote worker, called through its control API: the client of commands with `--server`, and its events. Its errors
 * are thrown with the same code as local ones.
 */
import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import type { ErrorCode, Problem } from "#core/errors.ts";
import { ConfigError, IntakeError, SimfleetError, errorCatalogue, messageOf } from "#core/errors.ts";
import { openFile } from "#core/files/open-file.ts";
import type { Secret } from "#core/secrets/secret.ts";
import { secondMs, systemClock } from "#core/time.ts";
import { createParser } from "eventsource-parser";
import { type EventDocument, listEvents } from "#events/contract.ts";
import { clientOf } from "#contract/client.ts";
import type { Caller, EventChoice } from "./context.ts";
import type { RowsRequest } from "#contract/route.ts";

type Parameters = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

const againAfterMs = 2 * secondMs;

export function remoteWorker(
  { url: given, token }: { url: string; token: Secret },
  interrupt: AbortSignal,
): Pick<Caller, "client" | "follow"> {
  const url = given.replace(/\/+$/, "");

  /** The error of a failed or lost connection; an abort by Ctrl-C is passed through. */
  const unavailable = (thrown: unknown): unknown => {
    if (interrupt.aborted) return thrown;
    const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown;
    return new SimfleetError("WORKER_UNREACHABLE", `No response from the worker at ${url}: ${messageOf(cause)}`);
  };

  /**
   * Sends a request. An idempotency key makes sure that one that creates something takes effect once.
   * @param body JSON, or a stream of CSV
   */
  const request = async (
    method: string,
    path: string,
    { query, body, headers: further }: { query: Parameters; body?: unknown; headers?: Record<string, string> },
  ): Promise<Response> => {
    const isFile = body instanceof ReadableStream;
    const headers: Record<string, string> = { ...further, authorization: `Bearer ${token.reveal()}` };
    if (method === "POST") headers["idempotency-key"] = randomUUID();
    if (body !== undefined) headers["content-type"] = isFile ? "text/csv" : "application/json";
    const init: RequestInit = {
      method,
      headers,
      redirect: "error",
      // After Ctrl-C a command still deletes the plan that it asked about.
      signal: interrupt.aborted && method === "DELETE" ? AbortSignal.timeout(againAfterMs) : interrupt,
      duplex: "half",
      body: isFile ? body : body === undefined ? null : JSON.stringify(body),
    };
    const answer = await fetch(`${url}${path}${formatQuery(query)}`, init).catch((thrown: unknown) => {
      throw unavailable(thrown);
    });
    if (!answer.ok) throw await refusalError(answer, url);
    return answer;
  };

  async function* text(path: string, query: Parameters, headers = {}): AsyncGenerator<string> {
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
    const sent = rows === undefined ? body : "file" in rows ? await openStream(rows) : rows;
    const answer = await request(route.method, path, { query: asked, body: sent });
    return route.status === 204 ? undefined : answer.json();
  });

  return { client, follow: (choice, id, say) => remoteEvents(text, choice, { id, interrupt, say }) };
}

async function refusalError(answer: Response, url: string): Promise<SimfleetError> {
  const problem = (await answer.json().catch(() => ({}))) as { code?: unknown; detail?: unknown; problems?: unknown };
  if (problem.code === "CONFIG_INVALID") return new ConfigError(problem.problems as readonly Problem[]);
  if (typeof problem.code === "string" && Object.hasOwn(errorCatalogue, problem.code)) {
    return new SimfleetError(problem.code as ErrorCode, String(problem.detail));
  }
  return new SimfleetError("WORKER_UNREACHABLE", `${url} is not a simfleet worker (HTTP ${answer.status})`);
}

function formatQuery(query: Parameters): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value ?? []].flat()) parameters.append(name, String(one));
  }
  return parameters.size === 0 ? "" : `?${parameters.toString()}`;
}

/** @throws IntakeError when the file cannot be read */
async function openStream({ file, read }: Extract<RowsRequest, { file: string }>): Promise<ReadableStream> {
  if (read !== undefined) return Readable.toWeb(Readable.from(read(), { objectMode: false })) as ReadableStream;
  const handle = await openFile(file, { links: "follow" }).catch((thrown: unknown) => {
    throw new IntakeError(`The file ${file} cannot be read: ${messageOf(thrown)}`, { cause: thrown });
  });
  return Readable.toWeb(handle.createReadStream()) as ReadableStream;
}

/**
 * Events of a remote worker, from its event stream (server-sent events). After a lost connection it continues after the
 * last received event.
 * @param text a streamed response
 * @param how `say`: reports a lost connection, which is an error without it
 */
export async function* remoteEvents(
  text: (path: string, query: Parameters, headers: object) => AsyncIterable<string>,
  choice: EventChoice,
  { id, interrupt, say }: { id: string; interrupt: AbortSignal; say: ((text: string) => void) | undefined },
): AsyncGenerator<EventDocument[]> {
  let lastId = id;
  while (!interrupt.aborted) {
    try {
      const headers = { accept: "text/event-stream", "last-event-id": lastId };
      for await (const events of documentsIn(text(`/v1${listEvents.path}`, { ...choice }, headers))) {
        yield events;
        lastId = events.at(-1)?.id ?? lastId;
      }
      if (say === undefined) {
        throw new SimfleetError("WORKER_UNREACHABLE", "The worker ended the event stream before the newest event");
      }
    } catch (thrown) {
      if (interrupt.aborted) return;
      if (say === undefined || !(thrown instanceof SimfleetError && thrown.code === "WORKER_UNREACHABLE")) throw thrown;
      say(`${thrown.message}. Trying again …`);
    }
    await systemClock.sleep(againAfterMs, interrupt).catch(() => undefined);
  }
}

/** The events in the text of a stream, as they arrive; heartbeats have none. */
async function* documentsIn(text: AsyncIterable<string>): AsyncGenerator<EventDocument[]> {
  let documents: EventDocument[] = [];
  const parser = createParser({ onEvent: ({ data }) => documents.push(JSON.parse(data) as EventDocument) });
  for await (const chunk of text) {
    parser.feed(chunk);
    if (documents.length > 0) yield documents;
    documents = [];
  }
}
