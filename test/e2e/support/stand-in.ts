/** Fakes for wrong addresses: a web server that is not the platform, a Redis of an old version. */
import { createServer as createHttp } from "node:http";
import { type AddressInfo, type Server, type Socket, createServer as createTcp } from "node:net";

export interface StandIn extends AsyncDisposable {
  readonly port: number;
}

/** A web server that returns the same page for every request. */
export function webServer(): Promise<StandIn> {
  const server = createHttp((_, response) => {
    response.setHeader("content-type", "text/html").end("<!doctype html><title>Welcome</title><p>It works!");
  });
  return listening(server);
}

/** A platform that refuses every call and echoes the request in its error. */
export function echoServer(): Promise<StandIn> {
  const server = createHttp((request, response) => {
    let body = "";
    request.on("data", (data: Buffer) => (body += data.toString()));
    request.on("end", () => {
      response.writeHead(401, { "content-type": "application/json" });
      response.end(JSON.stringify({ code: "ECHO", message: `no such account: ${body}` }));
    });
  });
  return listening(server);
}

/**
 * A platform that authenticates everybody and refuses every other call with a given text.
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
  const server = createHttp((request, response) => {
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

/** Responds to INFO as a server of this version would, and OK to everything else. */
export function oldRedis(version: string): Promise<StandIn> {
  const info = `# Server\r\nredis_version:${version}\r\nmaxmemory_policy:noeviction\r\nloading:0\r\n`;
  const sockets = new Set<Socket>();
  const server = createTcp((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("data", (data) => {
      const commands = data.toString("latin1").match(/\*\d+\r\n\$\d+\r\n(\w+)/g) ?? [];
      for (const command of commands) {
        socket.write(/info$/i.test(command) ? `$${info.length}\r\n${info}\r\n` : "+OK\r\n");
      }
    });
  });
  return listening(server, () => {
    for (const socket of sockets) socket.destroy();
  });
}

function listening(server: Server, closeConnections?: () => void): Promise<StandIn> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      resolve({ port, [Symbol.asyncDispose]: () => closed(server, closeConnections) });
    });
  });
}

function closed(server: Server, closeConnections: () => void = () => undefined): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    if ("closeAllConnections" in server) (server.closeAllConnections as () => void)();
    closeConnections();
  });
}
