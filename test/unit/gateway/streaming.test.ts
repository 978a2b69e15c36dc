import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { until } from "../../support/until.ts";
import { answer, startPlatform } from "../api/support.ts";
import { beginCall, headOf, openGateway } from "./support.ts";

const mebibyte = 1_048_576;
/** More than all buffers of sockets and streams between the two ends hold. */
const large = 20 * mebibyte;

/** A platform whose handler gets requests before their bodies are read. */
async function startStreamingPlatform(handler: (request: IncomingMessage, response: ServerResponse) => void) {
  const auth = await startPlatform((_request, response) =>
    answer(response, 200, { operatorId: "OP1", apiKey: "api-key-1", token: "token-1" }),
  );
  const { server, url } = auth;
  server.removeAllListeners("request");
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    if (request.url !== "/v1/auth") return handler(request, response);
    request.resume();
    answer(response, 200, { operatorId: "OP1", apiKey: "api-key-1", token: "token-1" });
  });
  return Object.assign(auth, { url });
}

/** Writes until nobody takes more for a while; returns the bytes that were written by then, at most `large`. */
async function bytesTaken(target: Writable): Promise<number> {
  const chunk = Buffer.alloc(65_536, "x");
  let taken = 0;
  while (taken < large) {
    taken += chunk.byteLength;
    if (target.write(chunk)) continue;
    const drained = once(target, "drain").then(() => true);
    drained.catch(() => undefined);
    if (!(await Promise.race([drained, sleep(500).then(() => false)]))) break;
  }
  return taken;
}

describe("bodies through the gateway", () => {
  it("64 MB stream through in both directions", async () => {
    const received = createHash("sha256");
    await using platform = await startStreamingPlatform((request, response) => {
      response.writeHead(200, { "content-type": "application/octet-stream" });
      request.on("data", (chunk: Buffer) => received.update(chunk));
      request.pipe(response);
    });
    await using gateway = await openGateway(platform.url);
    const begun = beginCall(gateway.url, "/v1/files/1", { method: "POST" });
    const head = headOf(begun);
    const sent = createHash("sha256");
    const upload = (async () => {
      for (let n = 0; n < large / mebibyte; n += 1) {
        const chunk = Buffer.alloc(mebibyte, n);
        sent.update(chunk);
        if (!begun.write(chunk)) await new Promise((resolve) => begun.once("drain", resolve));
      }
      begun.end();
    })();
    const back = createHash("sha256");
    let bytes = 0;
    for await (const chunk of await head) {
      back.update(chunk as Buffer);
      bytes += (chunk as Buffer).byteLength;
    }
    await upload;
    const digest = sent.digest("hex");
    expect([bytes, received.digest("hex"), back.digest("hex")]).toEqual([large, digest, digest]);
  });

  it("an upload is read only as fast as the platform takes it", async () => {
    let request: IncomingMessage | undefined;
    await using platform = await startStreamingPlatform((got, response) => {
      request = got;
      response.on("error", () => undefined);
    });
    await using gateway = await openGateway(platform.url);
    const begun = beginCall(gateway.url, "/v1/files/1", { method: "POST" });
    expect(await bytesTaken(begun)).toBeLessThan(large);
    expect(request?.complete).toBe(false);
    request?.destroy();
    begun.destroy();
  });

  it("an answer is read only as fast as the caller reads, and a caller that stops reading is cut off", async () => {
    let taken: Promise<number> | undefined;
    let cut = false;
    await using platform = await startStreamingPlatform((_request, response) => {
      response.writeHead(200);
      response.once("close", () => (cut = true));
      taken = bytesTaken(response);
    });
    await using gateway = await openGateway(platform.url, { times: { readerIdleMs: 1_500 } });
    const begun = beginCall(gateway.url, "/v1/files/1");
    begun.end();
    const head = await headOf(begun);
    head.on("error", () => undefined);
    // The permit ended with the head, although nothing of the body was read.
    expect(gateway.permits.diary.at(-1)).toBe("default.File answered");
    expect(await taken).toBeLessThan(large);
    await until("the caller is cut off", () => cut);
    begun.destroy();
  });
});

describe("slow and dead callers", () => {
  it("an upload that is slow from the start holds no permit", async () => {
    await using platform = await startStreamingPlatform((request, response) => {
      request.resume().once("end", () => answer(response, 200, "{}"));
    });
    await using gateway = await openGateway(platform.url);
    const begun = beginCall(gateway.url, "/v1/files/1", { method: "POST", headers: { "content-length": "20000" } });
    const head = headOf(begun);
    for (let n = 0; n < 10; n += 1) {
      begun.write("x".repeat(1_000));
      await sleep(20);
      expect(gateway.permits.requests).toEqual([]);
    }
    begun.end("x".repeat(10_000));
    expect((await head).resume().statusCode).toBe(200);
    expect(gateway.permits.diary.at(-1)).toBe("default.File answered");
  });

  it("an upload that stops before its permit is refused with 408", async () => {
    await using platform = await startStreamingPlatform(() => undefined);
    await using gateway = await openGateway(platform.url, { times: { aheadIdleMs: 100 } });
    const begun = beginCall(gateway.url, "/v1/files/1", { method: "POST", headers: { "content-length": "20000" } });
    begun.write("x");
    const head = await headOf(begun);
    head.resume();
    expect(head.statusCode).toBe(408);
    expect(gateway.permits.requests).toEqual([]);
    begun.destroy();
  });

  it("a large upload that stops ends its call and its permit", async () => {
    let wasCut = false;
    await using platform = await startStreamingPlatform((request) => {
      request.resume().once("close", () => (wasCut = true));
    });
    await using gateway = await openGateway(platform.url, { times: { restIdleMs: 200 } });
    const begun = beginCall(gateway.url, "/v1/files/1", { method: "POST", headers: { "content-length": "200000" } });
    const head = headOf(begun);
    begun.write(Buffer.alloc(100_000));
    const answered = await head;
    answered.resume();
    expect(answered.statusCode).toBe(408);
    expect(gateway.permits.diary.at(-1)).toBe("default.File lost");
    await until("the platform's side is cut", () => wasCut);
    begun.destroy();
  });

  it("a caller that dies during its upload leaves no permit", async () => {
    await using platform = await startStreamingPlatform((request) => {
      request.resume().on("error", () => undefined);
    });
    await using gateway = await openGateway(platform.url);
    const begun = beginCall(gateway.url, "/v1/files/1", { method: "POST", headers: { "content-length": "200000" } });
    begun.write(Buffer.alloc(100_000));
    await until("the call is sent", () => gateway.permits.diary.at(-1) === "default.File sending");
    begun.destroy();
    await until("the permit has ended", () => gateway.permits.diary.at(-1) === "default.File lost");
  });

  it("a call whose caller dies while it waits for the answer counts with its answer", async () => {
    let release = (): void => undefined;
    await using platform = await startStreamingPlatform((_request, response) => {
      release = () => answer(response, 200, "{}");
    });
    await using gateway = await openGateway(platform.url);
    const begun = beginCall(gateway.url, "/v1/files/1");
    begun.end();
    await until("the call is sent", () => gateway.permits.diary.at(-1) === "default.File sending");
    begun.destroy();
    await sleep(50);
    expect(gateway.permits.diary.at(-1)).toBe("default.File sending");
    release();
    await until("the permit has ended", () => gateway.permits.diary.at(-1) === "default.File answered");
    await until("it is logged", () => gateway.log.some((line) => line.includes('"status":"gone"')));
  });

  it("an answer that breaks off breaks off for the caller as well", async () => {
    const server = createServer((request, response) => {
      request.resume();
      if (request.url === "/v1/auth") return answer(response, 200, { operatorId: "OP1", apiKey: "a1", token: "t1" });
      response.writeHead(200, { "content-length": "1000" });
      response.write("x".repeat(100), () => response.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    await using gateway = await openGateway(`http://127.0.0.1:${port}`);
    const begun = beginCall(gateway.url, "/v1/files/1");
    begun.end();
    const head = await headOf(begun);
    await expect(head.resume().toArray()).rejects.toThrow(/aborted/);
    server.closeAllConnections();
    server.close();
  });
});
