import { createHash } from "node:crypto";
import { once } from "node:events";
import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { until } from "../../support/until.ts";
import { answer, startPlatform } from "../api/support.ts";
import { beginCall, type GatewayChanges, gatewayTo, headOf } from "./support.ts";

const mebibyte = 1_048_576;
/** More than all buffers of sockets and streams between the two ends hold. */
const large = 20 * mebibyte;

/** A gateway to a platform whose handler gets requests before their bodies are read. */
async function setup(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
  times: GatewayChanges["times"] = {},
) {
  const platform = await startPlatform(() => undefined);
  platform.server.removeAllListeners("request");
  platform.server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    if (request.url !== "/v1/auth") return handler(request, response);
    request.resume();
    answer(response, 200, { operatorId: "OP1", apiKey: "api-key-1", token: "token-1" });
  });
  return gatewayTo(platform, { times });
}

/** Writes until no more is taken for a while; returns the bytes that were written by then, at most `large`. */
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
  /** Writes a body of `large` bytes, as fast as it is taken. @returns its digest */
  const upload = async (begun: ClientRequest): Promise<string> => {
    const sent = createHash("sha256");
    for (let n = 0; n < large / mebibyte; n += 1) {
      const chunk = Buffer.alloc(mebibyte, n);
      sent.update(chunk);
      if (!begun.write(chunk)) await once(begun, "drain");
    }
    begun.end();
    return sent.digest("hex");
  };

  it("a large body streams through in both directions", async () => {
    const received = createHash("sha256");
    const { url } = await setup((request, response) => {
      response.writeHead(200, { "content-type": "application/octet-stream" });
      request.on("data", (chunk: Buffer) => received.update(chunk));
      request.pipe(response);
    });
    const begun = beginCall(url, "/v1/files/1", { method: "POST" });
    const head = headOf(begun);
    const sent = upload(begun);
    const back = Buffer.concat((await (await head).toArray()) as Buffer[]);
    const digest = await sent;
    const digestOfBack = createHash("sha256").update(back).digest("hex");
    expect([back.byteLength, received.digest("hex"), digestOfBack]).toEqual([large, digest, digest]);
  });

  it("an upload is read only as fast as the platform takes it", async () => {
    let request: IncomingMessage | undefined;
    const { url } = await setup((got, response) => {
      request = got;
      response.on("error", () => undefined);
    });
    const begun = beginCall(url, "/v1/files/1", { method: "POST" });
    expect(await bytesTaken(begun)).toBeLessThan(large);
    expect(request?.complete).toBe(false);
    request?.destroy();
    begun.destroy();
  });

  it("an answer is read only as fast as the caller reads, and a caller that stops reading is cut off", async () => {
    const [taken, cut] = [Promise.withResolvers<number>(), Promise.withResolvers<void>()];
    const handler = (_: IncomingMessage, response: ServerResponse): void => {
      response.writeHead(200).once("close", cut.resolve);
      taken.resolve(bytesTaken(response));
    };
    const { url, permits } = await setup(handler, { readerIdleMs: 1_500 });
    const begun = beginCall(url, "/v1/files/1").end();
    (await headOf(begun)).on("error", () => undefined);
    // The permit ended with the head, although nothing of the body was read.
    expect(permits.diary.at(-1)).toBe("default.File answered");
    expect(await taken.promise).toBeLessThan(large);
    await cut.promise; // the caller is cut off
    begun.destroy();
  });
});

describe("slow and dead callers", () => {
  it("an upload that is slow from the start holds no permit", async () => {
    const { url, permits } = await setup((request, response) => {
      request.resume().once("end", () => answer(response, 200, "{}"));
    });
    const begun = beginCall(url, "/v1/files/1", { method: "POST", headers: { "content-length": "20000" } });
    const head = headOf(begun);
    for (let n = 0; n < 10; n += 1) {
      begun.write("x".repeat(1_000));
      await sleep(20);
      expect(permits.requests).toEqual([]);
    }
    begun.end("x".repeat(10_000));
    expect((await head).resume().statusCode).toBe(200);
    expect(permits.diary.at(-1)).toBe("default.File answered");
  });

  it("an upload that stops before its permit is refused with 408", async () => {
    const { url, permits } = await setup(() => undefined, { aheadIdleMs: 100 });
    const begun = beginCall(url, "/v1/files/1", { method: "POST", headers: { "content-length": "20000" } });
    begun.write("x");
    expect((await headOf(begun)).resume().statusCode).toBe(408);
    expect(permits.requests).toEqual([]);
    begun.destroy();
  });

  it("a large upload that stops ends its call and its permit", async () => {
    const cut = Promise.withResolvers<void>();
    const { url, permits } = await setup((request) => request.resume().once("close", cut.resolve), { restIdleMs: 200 });
    const begun = beginCall(url, "/v1/files/1", { method: "POST", headers: { "content-length": "200000" } });
    const head = headOf(begun);
    begun.write(Buffer.alloc(100_000));
    expect((await head).resume().statusCode).toBe(408);
    expect(permits.diary.at(-1)).toBe("default.File lost");
    await cut.promise; // the platform's side
    begun.destroy();
  });

  it("a caller that dies during its upload leaves no permit", async () => {
    const { url, permits } = await setup((request) => {
      request.resume().on("error", () => undefined);
    });
    const begun = beginCall(url, "/v1/files/1", { method: "POST", headers: { "content-length": "200000" } });
    begun.write(Buffer.alloc(100_000));
    await until("the call is sent", () => permits.diary.at(-1) === "default.File sending");
    begun.destroy();
    await until("the permit has ended", () => permits.diary.at(-1) === "default.File lost");
  });

  it("a call whose caller dies while it waits for the answer counts with its answer", async () => {
    let release = (): void => undefined;
    const { url, permits, log } = await setup((_request, response) => {
      release = () => answer(response, 200, "{}");
    });
    const begun = beginCall(url, "/v1/files/1").end();
    await until("the call is sent", () => permits.diary.at(-1) === "default.File sending");
    begun.destroy();
    await sleep(50);
    expect(permits.diary.at(-1)).toBe("default.File sending");
    release();
    await until("the permit has ended", () => permits.diary.at(-1) === "default.File answered");
    await until("it is logged", () => log.some((line) => line.includes('"status":"gone"')));
  });

  it("an answer that breaks off breaks off for the caller as well", async () => {
    const { url } = await setup((request, response) => {
      request.resume();
      response.writeHead(200, { "content-length": "1000" });
      response.write("x".repeat(100), () => response.destroy());
    });
    const begun = beginCall(url, "/v1/files/1").end();
    const head = await headOf(begun);
    await expect(head.resume().toArray()).rejects.toThrow(/aborted/);
  });
});
