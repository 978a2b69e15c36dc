/** Fakes of a platform: one that answers as a test says, and a web server that is none. */
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface StandIn extends AsyncDisposable {
  readonly port: number;
}

/**
 * A platform that authenticates everybody and rejects every other call with a given text.
 * @param refusal text for the call with this number, from 0
 */
export function refusingPlatform(pair: Pair, refusal: (call: number) => string): Promise<StandIn> {
  let calls = 0;
  return answeringPlatform(pair, () => {
    const text = refusal(calls++);
    return { status: 400, body: { code: text, message: text } };
  });
}

interface Pair {
  readonly apiKey: string;
  readonly token: string;
}

/** A platform that authenticates everybody and answers every other call as `answerTo` says. */
export function answeringPlatform(
  pair: Pair,
  answerTo: (call: { readonly path: string; readonly body: string }) => {
    readonly status: number;
    readonly body: unknown;
  },
): Promise<StandIn> {
  let calls = 0;
  const server = createServer((request, response) => {
    const { url: path = "" } = request;
    let text = "";
    request.on("data", (data: Buffer) => (text += data.toString()));
    request.on("end", () => {
      const isAuth = path.endsWith("/auth");
      const { status, body } = isAuth
        ? { status: 200, body: { operatorId: "OP0012345678", ...pair } }
        : answerTo({ path, body: text });
      if (!isAuth) calls += 1;
      const quota = {
        "x-svc-ratelimit-limit": "1000",
        "x-svc-ratelimit-remaining": String(1_000 - calls),
        "x-svc-ratelimit-seconds-before-refresh": "60",
      };
      response.writeHead(status, { "content-type": "application/json", ...quota });
      response.end(JSON.stringify(body));
    });
  });
  return listening(server);
}

function listening(server: Server): Promise<StandIn> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      resolve({ port, [Symbol.asyncDispose]: () => closed(server) });
    });
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
