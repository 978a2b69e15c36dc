/** A proxy on this machine that carries every host that it is asked for to one port. */
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";

export interface ConnectProxy extends AsyncDisposable {
  readonly port: number;
  /** The hosts, with their ports, in the order in which they were asked for. */
  readonly asked: readonly string[];
}

/** @param options `login`: `user:password` that it asks for; `refuses`: the status of hosts it does not connect to */
export async function connectProxy(options: {
  readonly to?: number;
  readonly login?: string;
  readonly refuses?: number;
}): Promise<ConnectProxy> {
  const { to = 0, login, refuses } = options;
  const expected = login === undefined ? undefined : `Basic ${Buffer.from(login).toString("base64")}`;
  const asked: string[] = [];
  const sockets = new Set<{ destroy(): unknown }>();
  const server = createServer((request, response) => {
    asked.push(String(request.url));
    response.end("{}");
  });
  server.on("connect", (request, socket, head) => {
    asked.push(String(request.url));
    sockets.add(socket);
    socket.on("error", () => undefined);
    const status = request.headers["proxy-authorization"] === expected ? refuses : 407;
    if (status !== undefined) {
      socket.end(`HTTP/1.1 ${status} No\r\n\r\n`);
      return;
    }
    const onward = connect(to, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      onward.write(head);
      socket.pipe(onward).pipe(socket);
    });
    sockets.add(onward);
    onward.on("error", () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}
