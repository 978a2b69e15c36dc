/** Parts for tests of the client: a clock that stands still, permits that keep a diary, a platform of a few lines. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { ClientEvent, PlatformClientOptions } from "#api/client-options.ts";
import { PlatformClient } from "#api/client.ts";
import { PlatformError } from "#core/errors.ts";
import { Secret } from "#core/secrets/secret.ts";
import type { Permit, PermitRequest } from "#limiter/permit.ts";
import { ManualClock } from "../../support/manual-clock.ts";

export class StillClock extends ManualClock {
  override nowMs = 1_000_000;

  override sleep(): Promise<void> {
    return Promise.reject(new Error("the client never sleeps"));
  }
}

/** Grants everything at once; `diary` says what became of each permit, in order. */
export class OpenPermits {
  readonly diary: string[] = [];
  readonly requests: PermitRequest[] = [];
  readonly answers: unknown[] = [];

  acquire(request: PermitRequest): Promise<Permit> {
    this.requests.push(request);
    const write = (what: string): void => {
      this.diary.push(`${request.bucket} ${what}`);
    };
    return Promise.resolve({
      sending: () => write("sending"),
      answered: (said) => {
        write("answered");
        this.answers.push(said);
      },
      lost: () => write("lost"),
      giveBack: () => write("giveBack"),
    });
  }
}

export type Handler = (request: IncomingMessage & { text: string }, response: ServerResponse) => void;

export interface Platform extends AsyncDisposable {
  readonly url: string;
  readonly server: Server;
  readonly seen: {
    method: string;
    path: string;
    headers: IncomingMessage["headers"];
    body: string;
  }[];
}

export async function startPlatform(handler: Handler): Promise<Platform> {
  const seen: Platform["seen"] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      const { method = "", url = "", headers } = request;
      seen.push({ method, path: url, headers, body: text });
      handler(Object.assign(request, { text }), response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url, server, seen, [Symbol.asyncDispose]: stop };
}

export function answer(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

export const quotaHeaders = {
  "x-svc-ratelimit-limit": "60",
  "x-svc-ratelimit-remaining": "42",
  "x-svc-ratelimit-seconds-before-refresh": "17",
};

/** The input of a change, and a platform's response to it. */
export const change = { key: "8942310022000012345", inputs: ["s1.fast"] };
export const changed: Handler = (_request, response) =>
  answer(response, 200, { imsi: "001", speedClass: "s1.fast" }, quotaHeaders);

/** A platform that authenticates everybody, with pairs `key-1`, `key-2`…, and leaves the rest to `handler`. */
export async function startOpenPlatform(handler: Handler): Promise<Platform & { auths(): number }> {
  let auths = 0;
  const platform = await startPlatform((request, response) => {
    if (request.url !== "/v1/auth") return handler(request, response);
    auths += 1;
    answer(response, 200, {
      operatorId: "OP1",
      apiKey: `api-key-${auths}`,
      token: `token-${auths}`,
    });
  });
  return Object.assign(platform, { auths: () => auths });
}

export function clientFor(url: string, changes: Partial<PlatformClientOptions> = {}): PlatformClient & AsyncDisposable {
  const client = new PlatformClient({
    profile: { name: "default", coverage: "g", wording: "sims" },
    brand: "Svc",
    language: "en",
    endpoints: { global: url },
    credentials: () => [{ kind: "auth-key", authKeyId: "keyId-1", authKey: new Secret("secret-auth-key") }],
    connections: 4,
    clock: new StillClock(),
    permits: new OpenPermits(),
    quotaScope: "principal",
    userAgent: "simfleet/test",
    ...changes,
  });
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

/** A client of this platform, with its permits and its events; both are closed at the end of the case. */
export function clientTo<P extends Platform>(platform: P, changes: Partial<PlatformClientOptions> = {}) {
  const permits = new OpenPermits();
  const events: ClientEvent[] = [];
  const client = clientFor(platform.url, { permits, onEvent: (event) => events.push(event), ...changes });
  onTestFinished(async () => {
    await client.close();
    await platform[Symbol.asyncDispose]();
  });
  return { platform, client, permits, events };
}

/** The PlatformError that a promise ends with. */
export async function refusalOf(promise: Promise<unknown>): Promise<PlatformError> {
  const thrown = await promise.then(
    (value) => new Error(`no refusal but ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (thrown instanceof PlatformError) return thrown;
  throw thrown;
}

/** Lets everything that is ready to run do so. */
export async function until(isTrue: () => boolean): Promise<void> {
  for (let i = 0; i < 100_000 && !isTrue(); i += 1) await turn();
  if (!isTrue()) throw new Error("waited in vain");
}
