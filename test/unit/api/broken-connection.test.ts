import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { parseAddress } from "#api/http/address.ts";
import type { Exchange } from "#api/http/exchange.ts";
import { Transport } from "#api/http/transport.ts";
import { systemClock } from "#core/time.ts";
import { refusalOf } from "./support.ts";

/** A server of raw bytes: what it says once the first request is there. */
async function withRawServer(
  onRequest: (socket: Socket) => void,
  use: (exchange: Exchange) => Promise<void>,
): Promise<void> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => onRequest(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = parseAddress(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, "SIMFLEET_ENDPOINT_JAPAN");
  try {
    await use({ operation: "op", address, method: "POST", path: "/v1/x", headers: [], body: "{}" });
  } finally {
    server.close();
  }
}

describe("HTTP exchanges", () => {
  it("an exchange whose connection breaks before or during the response may have applied", async () => {
    const head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n";
    const endings: ((socket: Socket) => void)[] = [
      (socket) => socket.resetAndDestroy(),
      (socket) => socket.end(),
      (socket) => socket.end(`${head}{"imsi":`),
      (socket) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"a":\r\n'),
      (socket) => socket.end("not HTTP at all, with token-123 in it\r\n\r\n"),
    ];
    for (const ending of endings) {
      await withRawServer(ending, async (exchange) => {
        const transport = new Transport({ connections: 1, clock: systemClock });
        const error = await refusalOf(transport.exchange(exchange));
        expect(error).toMatchObject({ code: "PLATFORM_UNAVAILABLE", mayHaveApplied: true });
        expect(error.message).not.toContain("token-123");
        expect(error.cause).toBeUndefined();
        await transport.close();
      });
    }
  });
});
