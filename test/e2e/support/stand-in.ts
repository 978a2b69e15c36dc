/** A fake of a platform, which answers as a test says. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

interface Pair {
  readonly apiKey: string;
  readonly token: string;
}

/** A platform that authenticates everybody and answers every other call as `answerTo` says. */
export async function answeringPlatform(
  pair: Pair,
  answerTo: (call: { readonly path: string; readonly body: string }) => {
    readonly status: number;
    readonly body: unknown;
  },
) {
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
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}
