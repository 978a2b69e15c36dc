import type { ServerResponse } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseAddress } from "#api/http/address.ts";
import { type Exchange, openTransport, type TransportOptions } from "#api/http/transport.ts";
import { systemClock } from "#core/time.ts";
import { answer, type Handler, refusalOf, startPlatform, StillClock, until } from "./support.ts";

/** What goes through a transport to a platform of this handler; both are closed at the end of the case. */
async function setup(handler: Handler, options: Partial<TransportOptions> = {}) {
  const platform = await startPlatform(handler);
  const transport = openTransport({ connections: 2, clock: systemClock, ...options });
  onTestFinished(async () => {
    platform.server.closeAllConnections();
    await transport.close();
    await platform[Symbol.asyncDispose]();
  });
  const diary: string[] = [];
  const watcher = {
    sending: () => void diary.push("sending"),
    head: (status: number) => void diary.push(`head ${status}`),
  };
  const address = parseAddress(platform.url, "SIMFLEET_ENDPOINT_GLOBAL");
  const request = { operation: "op", address, method: "POST", path: "/v1/x", headers: ["a", "b"], body: "{}" } as const;
  const exchange = (more: Partial<Exchange> = {}) => transport.exchange({ ...request, watcher, ...more });
  return { address, exchange, diary };
}

describe("HTTP exchanges", () => {
  it("an exchange returns status, lower-case headers, and full body, and reports its send and response times", async () => {
    const big = "あ".repeat(200_000);
    const { exchange, diary } = await setup((_request, response) => answer(response, 418, big, { "X-Any": "1" }));
    const got = await exchange();
    expect(got.status).toBe(418);
    expect(got.headers["x-any"]).toBe("1");
    expect(got.body.toString("utf8")).toBe(big);
    expect(diary).toEqual(["sending", "head 418"]);
  });

  // Shows S6.
  it("an exchange does not follow redirects", async () => {
    let calls = 0;
    const { exchange } = await setup((_request, response) => {
      calls += 1;
      answer(response, 302, "", { location: "/elsewhere" });
    });
    expect((await exchange()).status).toBe(302);
    expect(calls).toBe(1);
  });

  it("exchanges reuse their connections", async () => {
    const sockets = new Set<unknown>();
    const { exchange } = await setup((request, response) => {
      sockets.add(request.socket);
      answer(response, 200, {});
    });
    for (let i = 0; i < 20; i += 1) await exchange();
    expect(sockets.size).toBeLessThanOrEqual(2);
  });

  it.each([
    ["to a closed port", "http://127.0.0.1:1", /127\.0\.0\.1:1 refused the connection.*SIMFLEET_ENDPOINT_GLOBAL/],
    ["with an unknown host", "https://no-such-host.invalid", /no-such-host\.invalid.*SIMFLEET_ENDPOINT_GLOBAL/],
    ["with a TLS failure", undefined, /TLS with .* failed|no connection/],
  ])("an exchange %s was never sent and cannot have applied", async (_, url, message) => {
    const { address, exchange } = await setup((_request, response) => answer(response, 200, {}));
    const other = parseAddress(url ?? address.origin.replace("http:", "https:"), "SIMFLEET_ENDPOINT_GLOBAL");
    const error = await refusalOf(exchange({ address: other }));
    expect(error).toMatchObject({ code: "PLATFORM_UNAVAILABLE", mayHaveApplied: false, operation: "op" });
    expect(error.message).toMatch(message);
  });

  it("an exchange that hangs ends after its timeout and may have applied", async () => {
    const { exchange, diary } = await setup(() => undefined, { answerTimeoutMs: 200 });
    const error = await refusalOf(exchange());
    expect(error).toMatchObject({ code: "PLATFORM_UNAVAILABLE", mayHaveApplied: true });
    expect(error.message).toContain("within 0.2 s");
    expect(diary).toEqual(["sending"]);
  });

  it.each([true, false])("a response larger than the cap is cut off, announced in advance: %s", async (isAnnounced) => {
    const { exchange } = await setup(
      (_request, response) => {
        response.writeHead(200, isAnnounced ? { "content-length": "2000000" } : {});
        response.write("x".repeat(1_000_000));
        response.end("x".repeat(1_000_000));
      },
      { maxBodyBytes: 65_536 },
    );
    const error = await refusalOf(exchange());
    expect(error).toMatchObject({ code: "PLATFORM_UNAVAILABLE", mayHaveApplied: true, status: 200 });
    expect(error.message).toContain("larger than 65536 bytes");
  });

  it("a response that trickles is aborted after the body timeout", async () => {
    const clock = new StillClock();
    let trickling: ServerResponse | undefined;
    const begin: Handler = (_request, response) => {
      trickling = response.writeHead(200);
      response.write("[");
    };
    const { exchange, diary } = await setup(begin, { clock });
    const refusal = refusalOf(exchange());
    await until(() => diary.length === 2);
    clock.pass(31_000);
    trickling?.write(" ");
    expect((await refusal).message).toContain("not complete after 30 s");
  });

  it.each<[string, answered: string | undefined]>([
    ["is reset", undefined],
    ["ends before the response", ""],
    ["ends in the body", 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"imsi":'],
    ["ends in a chunk", 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"a":\r\n'],
    ["carries no HTTP", "not HTTP at all, with token-123 in it\r\n\r\n"],
  ])("an exchange whose connection %s may have applied", async (_, answered) => {
    const { exchange } = await setup(
      ({ socket }) => void (answered === undefined ? socket.resetAndDestroy() : socket.end(answered)),
    );
    const error = await refusalOf(exchange());
    expect(error).toMatchObject({ code: "PLATFORM_UNAVAILABLE", mayHaveApplied: true });
    expect(error.message).not.toContain("token-123");
    expect(error.cause).toBeUndefined();
  });
});
