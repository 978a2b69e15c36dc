import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { parseAddress } from "#api/http/address.ts";
import { type Exchange, openTransport, type Transport, type TransportOptions } from "#api/http/transport.ts";
import { systemClock } from "#core/time.ts";
import { answer, type Handler, refusalOf, startPlatform, StillClock, until } from "./support.ts";

async function withPlatform(
  handler: Handler,
  use: (transport: Transport, exchange: Exchange, diary: string[]) => Promise<void>,
  options: Partial<TransportOptions> = {},
): Promise<void> {
  await using platform = await startPlatform(handler);
  const transport = openTransport({ connections: 2, clock: systemClock, ...options });
  const diary: string[] = [];
  const watcher = {
    sending: () => {
      diary.push("sending");
    },
    head: (status: number) => {
      diary.push(`head ${status}`);
    },
  };
  const address = parseAddress(platform.url, "SIMFLEET_ENDPOINT_GLOBAL");
  const exchange: Exchange = {
    operation: "op",
    address,
    method: "POST",
    path: "/v1/x",
    headers: ["a", "b"],
    body: "{}",
    watcher,
  };
  try {
    await use(transport, exchange, diary);
  } finally {
    platform.server.closeAllConnections();
    await transport.close();
  }
}

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
  it("an exchange returns status, lower-case headers, and full body, and reports its send and response times", async () => {
    const big = "あ".repeat(200_000);
    await withPlatform(
      (_request, response) => answer(response, 418, big, { "X-Any": "1" }),
      async (transport, exchange, diary) => {
        const got = await transport.exchange(exchange);
        expect(got.status).toBe(418);
        expect(got.headers["x-any"]).toBe("1");
        expect(got.body.toString("utf8")).toBe(big);
        expect(diary).toEqual(["sending", "head 418"]);
      },
    );
  });

  // Shows S6.
  it("an exchange does not follow redirects", async () => {
    let calls = 0;
    await withPlatform(
      (_request, response) => {
        calls += 1;
        answer(response, 302, "", { location: "/elsewhere" });
      },
      async (transport, exchange) => {
        expect((await transport.exchange(exchange)).status).toBe(302);
        expect(calls).toBe(1);
      },
    );
  });

  it("exchanges reuse their connections", async () => {
    const sockets = new Set<unknown>();
    await withPlatform(
      (request, response) => {
        sockets.add(request.socket);
        answer(response, 200, {});
      },
      async (transport, exchange) => {
        for (let i = 0; i < 20; i += 1) await transport.exchange(exchange);
        expect(sockets.size).toBeLessThanOrEqual(2);
      },
    );
  });

  it.each([
    ["to a closed port", "http://127.0.0.1:1", /127\.0\.0\.1:1 refused the connection.*SIMFLEET_ENDPOINT_GLOBAL/],
    ["with an unknown host", "https://no-such-host.invalid", /no-such-host\.invalid.*SIMFLEET_ENDPOINT_GLOBAL/],
    ["with a TLS failure", undefined, /TLS with .* failed|no connection/],
  ])("an exchange %s was never sent and cannot have applied", async (_, url, message) => {
    await withPlatform(
      (_request, response) => answer(response, 200, {}),
      async (transport, exchange) => {
        const { origin } = exchange.address;
        const address = parseAddress(url ?? origin.replace("http:", "https:"), "SIMFLEET_ENDPOINT_GLOBAL");
        const error = await refusalOf(transport.exchange({ ...exchange, address }));
        expect(error).toMatchObject({ code: "PLATFORM_UNAVAILABLE", mayHaveApplied: false, operation: "op" });
        expect(error.message).toMatch(message);
      },
    );
  });

  it("an exchange that hangs ends after its timeout and may have applied", async () => {
    await withPlatform(
      () => undefined,
      async (transport, exchange, diary) => {
        const error = await refusalOf(transport.exchange(exchange));
        expect(error).toMatchObject({ code: "PLATFORM_UNAVAILABLE", mayHaveApplied: true });
        expect(error.message).toContain("within 0.2 s");
        expect(diary).toEqual(["sending"]);
      },
      { answerTimeoutMs: 200 },
    );
  });

  it.each([true, false])("a response larger than the cap is cut off, announced in advance: %s", async (isAnnounced) => {
    await withPlatform(
      (_request, response) => {
        response.writeHead(200, isAnnounced ? { "content-length": "2000000" } : {});
        response.write("x".repeat(1_000_000));
        response.end("x".repeat(1_000_000));
      },
      async (transport, exchange) => {
        const error = await refusalOf(transport.exchange(exchange));
        expect(error).toMatchObject({
          code: "PLATFORM_UNAVAILABLE",
          mayHaveApplied: true,
          status: 200,
        });
        expect(error.message).toContain("larger than 65536 bytes");
      },
      { maxBodyBytes: 65_536 },
    );
  });

  it("a response that trickles is aborted after the body timeout", async () => {
    const clock = new StillClock();
    let drip = (): void => undefined;
    await withPlatform(
      (_request, response) => {
        response.writeHead(200);
        response.write("[");
        drip = () => {
          response.write(" ");
        };
      },
      async (transport, exchange, diary) => {
        const refusal = refusalOf(transport.exchange(exchange));
        await until(() => diary.length === 2);
        clock.pass(31_000);
        drip();
        expect((await refusal).message).toContain("not complete after 30 s");
      },
      { clock },
    );
  });

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
        const transport = openTransport({ connections: 1, clock: systemClock });
        const error = await refusalOf(transport.exchange(exchange));
        expect(error).toMatchObject({ code: "PLATFORM_UNAVAILABLE", mayHaveApplied: true });
        expect(error.message).not.toContain("token-123");
        expect(error.cause).toBeUndefined();
        await transport.close();
      });
    }
  });
});
