/** A gateway in front of a platform of a few lines, and calls through it that keep hold of their connection. */
import { type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders, request } from "node:http";
import { systemClock } from "#core/time.ts";
import { type Gateway, type GatewayOptions, startGateway } from "#gateway/gateway.ts";
import { createLogger } from "#telemetry/logger.ts";
import { onTestFinished } from "vitest";
import { clientFor, OpenPermits, type Platform } from "../api/support.ts";

export interface GatewaySetup extends AsyncDisposable {
  readonly url: string;
  readonly permits: OpenPermits;
  readonly gateway: Gateway;
  readonly log: string[];
}

export type GatewayChanges = Partial<GatewayOptions> & { permits?: Pick<OpenPermits, "acquire"> };

/** A gateway to this platform; both are closed at the end of the case. */
export async function gatewayTo<P extends Platform>(platform: P, changes?: GatewayChanges) {
  const gateway = await openGateway(platform.url, changes);
  onTestFinished(async () => {
    await gateway[Symbol.asyncDispose]();
    await platform[Symbol.asyncDispose]();
  });
  return { platform, ...gateway };
}

export async function openGateway(platformUrl: string, changes: GatewayChanges = {}): Promise<GatewaySetup> {
  const permits = new OpenPermits();
  const { permits: given = permits, ...options } = changes;
  const client = clientFor(platformUrl, { clock: systemClock, permits: given });
  const log: string[] = [];
  const destination = { write: (line: string) => log.push(line) };
  const gateway = await startGateway({
    host: "127.0.0.1",
    port: 0,
    token: undefined,
    authFailuresPerMinute: 3,
    brand: "Svc",
    ttlField: undefined,
    sharedKey: () => Promise.resolve("key of the test"),
    isReady: () => Promise.resolve(true),
    maxWaitMs: 1_000,
    client,
    freezeOf: () => Promise.resolve(undefined),
    grouping: { operations: {}, simOperations: new Map(), apiGroups: { "/v1/files/**": "File" } },
    clock: systemClock,
    logger: createLogger({ level: "debug", destination }),
    ...options,
  });
  const close = async (): Promise<void> => {
    await gateway.close();
    await client.close();
  };
  return { url: gateway.url, permits, gateway, log, [Symbol.asyncDispose]: close };
}

export interface CallOptions {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer;
}

/** Starts a call; the caller writes the body. */
export function beginCall(
  url: string,
  path: string,
  { method = "GET", headers = {} }: CallOptions = {},
): ClientRequest {
  const begun = request(url, { method, headers, path, agent: false });
  begun.on("error", () => undefined);
  return begun;
}

/** The head of the response; its body is read by the caller. */
export function headOf(begun: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => begun.once("response", resolve).once("error", reject));
}

export interface Answered {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

/** Makes a whole call. */
export async function call(url: string, path: string, options: CallOptions = {}): Promise<Answered> {
  const begun = beginCall(url, path, options);
  const head = headOf(begun);
  begun.end(options.body);
  const answered = await head;
  const chunks: Buffer[] = [];
  for await (const chunk of answered) chunks.push(chunk as Buffer);
  return { status: answered.statusCode ?? 0, headers: answered.headers, text: Buffer.concat(chunks).toString() };
}
