/**
 * A remote worker, called through its control API: the client of commands with `--server`. Its errors are thrown with the
 * same code as local ones.
 */
import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { errorCatalogue, type ErrorCode, IntakeError, messageOf, SimfleetError } from "#core/errors.ts";
import { openFile } from "#core/files/open-file.ts";
import type { Secret } from "#core/secret.ts";
import { type Client, clientOf, type Send } from "#contract/client.ts";

type Parameters = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

interface RequestOptions {
  readonly query?: Parameters | undefined;
  /** JSON, or a stream of CSV. */
  readonly body?: object | ReadableStream | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export class RemoteWorker {
  readonly #url: string;
  readonly #token: Secret;
  /** The account that commands are about; undefined: the worker's default. */
  readonly profile: string | undefined;
  readonly #interrupt: AbortSignal;

  /** @param options `profile`: the account; absent: the worker's default */
  constructor(options: { url: string; token: Secret; profile: string | undefined; interrupt: AbortSignal }) {
    this.#url = options.url.replace(/\/+$/, "");
    this.#token = options.token;
    this.profile = options.profile;
    this.#interrupt = options.interrupt;
  }

  /** Sends a request. An idempotency key makes sure that one that creates something takes effect once. */
  readonly #send: Send = async (route, { params = {}, query = {}, body, rows }) => {
    const path = `/v1${route.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name])))}`;
    const asked = query as Parameters;
    if (route.answer === "lines") return this.text(path, asked);
    const sent = rows === undefined ? body : "file" in rows ? await streamOf(rows.file) : rows;
    const answer = await this.#request(route.method, path, { query: asked, body: sent as RequestOptions["body"] });
    return route.status === 204 ? undefined : answer.json();
  };

  readonly client: Client = clientOf(this.#send);

  /** A streamed response, as it arrives. */
  async *text(
    path: string,
    query: Parameters = {},
    headers: Readonly<Record<string, string>> = {},
  ): AsyncGenerator<string> {
    const { body } = await this.#request("GET", path, { query, headers });
    const decoder = new TextDecoder();
    try {
      for await (const chunk of body ?? []) yield decoder.decode(chunk as Uint8Array, { stream: true });
    } catch (thrown) {
      throw this.#unavailable(thrown);
    }
  }

  async #request(
    method: string,
    path: string,
    { query = {}, body, headers: further }: RequestOptions,
  ): Promise<Response> {
    const isFile = body instanceof ReadableStream;
    const headers: Record<string, string> = { ...further, authorization: `Bearer ${this.#token.reveal()}` };
    if (method === "POST") headers["idempotency-key"] = randomUUID();
    if (body !== undefined) headers["content-type"] = isFile ? "text/csv" : "application/json";
    const init: RequestInit = {
      method,
      headers,
      redirect: "error",
      signal: this.#interrupt,
      duplex: "half",
      body: isFile ? body : body === undefined ? null : JSON.stringify(body),
    };
    const answer = await fetch(`${this.#url}${path}${textOf(query)}`, init).catch((thrown: unknown) => {
      throw this.#unavailable(thrown);
    });
    if (!answer.ok) throw await refusalOf(answer, this.#url);
    return answer;
  }

  /** The error of a failed or lost connection; an abort by Ctrl-C is passed through. */
  #unavailable(thrown: unknown): unknown {
    if (this.#interrupt.aborted) return thrown;
    const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown;
    return new SimfleetError("WORKER_UNREACHABLE", `No response from the worker at ${this.#url}: ${messageOf(cause)}`);
  }
}

async function refusalOf(answer: Response, url: string): Promise<SimfleetError> {
  const problem = (await answer.json().catch(() => ({}))) as { code?: unknown; detail?: unknown };
  if (typeof problem.code === "string" && Object.hasOwn(errorCatalogue, problem.code)) {
    return new SimfleetError(problem.code as ErrorCode, String(problem.detail));
  }
  return new SimfleetError("WORKER_UNREACHABLE", `${url} answered ${answer.status}, but not like a simfleet worker`);
}

function textOf(query: Parameters): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value ?? []].flat()) parameters.append(name, String(one));
  }
  return parameters.size === 0 ? "" : `?${parameters.toString()}`;
}

/** @throws IntakeError when the file cannot be read */
async function streamOf(file: string): Promise<ReadableStream> {
  const handle = await openFile(file, { links: "follow" }).catch((thrown: unknown) => {
    throw new IntakeError(`The file ${file} cannot be read: ${messageOf(thrown)}`, { cause: thrown });
  });
  return Readable.toWeb(handle.createReadStream()) as ReadableStream;
}
