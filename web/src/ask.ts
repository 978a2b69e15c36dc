/** Requests to the control API: the token as a header, responses as values, everything else as a Problem. */
import { problemFrom, problemOf } from "./pure/problem.ts";
import { dropToken, token } from "./token.ts";

export type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

export interface Asking {
  readonly method?: "GET" | "POST" | "DELETE";
  /** A list is sent as a parameter for each of its values. */
  readonly query?: Query;
  /** A form is sent as is, with the file in it; anything else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** @throws Problem */
export async function ask<T>(path: string, asking: Asking = {}): Promise<T> {
  const response = await send(path, asking);
  return (response.status === 204 ? undefined : await response.json()) as T;
}

/**
 * The response as it starts to arrive. A 401 on any request signs out.
 * @throws Problem; the signal's reason if it aborts
 */
export async function send(path: string, { method = "GET", query, body, headers, signal }: Asking): Promise<Response> {
  const used = token.value;
  const response = await fetch(addressOf(path, query), {
    method,
    credentials: "same-origin",
    headers: {
      accept: "application/json",
      ...(used === undefined ? {} : { authorization: `Bearer ${used}` }),
      ...(body === undefined || body instanceof FormData ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: body instanceof FormData ? body : JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((thrown: unknown) => {
    throw signal?.aborted === true ? thrown : problemFrom(thrown);
  });
  if (response.ok) return response;
  const problem = problemOf(response.status, await response.text());
  if (problem.status === 401 && used !== undefined && used === token.value) {
    dropToken(`You were signed out: ${problem.message}`);
  }
  throw problem;
}

export function addressOf(path: string, query: Query = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) => [value].flat().map((one) => [name, one] as const));
  const filled = given.filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(filled.map(([name, value]) => [name, String(value)])).toString();
  return search === "" ? path : `${path}?${search}`;
}

/** Downloads a response as a file; the token is sent as a header, which a plain link could not do. */
export async function download(path: string, query: Query | undefined, fallbackName: string): Promise<void> {
  const response = await send(path, { ...(query === undefined ? {} : { query }), headers: { accept: "*/*" } });
  const named = /filename="?([^";]+)"?/.exec(response.headers.get("content-disposition") ?? "")?.[1];
  saveFile(await response.blob(), named ?? fallbackName);
}

export function saveFile(content: Blob, name: string): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser has started the download by then.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
