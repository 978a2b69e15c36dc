/** The sender of signed messages: what the specification says, and what no endpoint can make it do. */
import { createHmac } from "node:crypto";
import type { LookupFunction } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { Secret } from "#core/secrets/secret.ts";
import { systemClock } from "#core/time.ts";
import { signaturesOf } from "#events/webhook/webhook-signature.ts";
import { type WebhookMessage, webhookSender } from "#events/webhook/webhook.ts";
import { startPlatform } from "../api/support.ts";

const secret = new Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");

/** Sends a message from a sender of its own, which finds addresses by `lookup`. */
function send(message: Partial<WebhookMessage> & { url: string }, lookup?: LookupFunction) {
  const sender = webhookSender({ clock: systemClock, userAgent: "simfleet/test", ...(lookup && { lookup }) });
  onTestFinished(() => sender.close());
  return sender.send({ id: "m", body: "{}", secrets: [secret], ...message });
}

describe("webhook signatures", () => {
  // Shows S12.
  it("a webhook signature matches the example of the specification", () => {
    const message = {
      id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
      timestampSeconds: 1_614_265_330,
      body: '{"test": 2432232314}',
    };
    expect(signaturesOf(message, [secret])).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  });

  it("a webhook message is signed with both secrets while one is being replaced", () => {
    const next = new Secret(`whsec_${Buffer.alloc(32, 7).toString("base64")}`);
    const message = { id: "a", timestampSeconds: 1, body: "{}" };
    expect(signaturesOf(message, [secret, next]).split(" ")).toEqual([
      signaturesOf(message, [secret]),
      signaturesOf(message, [next]),
    ]);
  });
});

describe("sent webhook messages", () => {
  it("a webhook message arrives in the form that the endpoint's library expects", async () => {
    await using receiver = await startPlatform((_, response) => response.writeHead(204).end());
    const body = '{"type":"x"}';
    const delivery = await send({ url: `${receiver.url}/hook?a=1`, id: "m-1", body });
    expect(delivery).toEqual({ kind: "accepted", status: 204 });
    const [seen] = receiver.seen;
    expect(seen).toMatchObject({ method: "POST", path: "/hook?a=1", body });
    const { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": signature } = seen?.headers ?? {};
    expect([id, Math.abs(Number(at) - systemClock.wallMs() / 1_000) < 5]).toEqual(["m-1", true]);
    const key = Buffer.from(secret.reveal().slice(6), "base64");
    const hmac = createHmac("sha256", key).update(`m-1.${String(at)}.${body}`);
    expect(signature).toBe(`v1,${hmac.digest("base64")}`);
  });

  it.each([
    ...[301, 307, 400, 410].map((status) => ({ status, isFinal: true })),
    ...[408, 429, 500, 503].map((status) => ({ status, isFinal: false })),
  ])("a webhook message answered with $status fails permanently: $isFinal", async ({ status, isFinal }) => {
    await using remote = await startPlatform((_, response) => response.writeHead(200).end());
    await using receiver = await startPlatform((_, response) => {
      response.writeHead(status, { location: remote.url, "retry-after": "7" }).end("x".repeat(100_000));
    });
    const delivery = await send({ url: receiver.url });
    expect(delivery).toEqual({ kind: "refused", status, isFinal, retryAfterMs: 7_000 });
    expect(remote.seen).toEqual([]);
  });

  it("an unanswered webhook message is aborted at its deadline, and a failed connection is reported at once", async () => {
    await using silent = await startPlatform(() => undefined);
    expect(await send({ url: silent.url, deadlineMs: 50 })).toEqual({
      kind: "unanswered",
      reason: `${new URL(silent.url).host}: no response within 0.05 s`,
    });
    expect(await send({ url: "http://127.0.0.1:1" })).toMatchObject({ kind: "unanswered" });
  });
});

describe("webhook host names", () => {
  const answering =
    (...answers: string[]): LookupFunction =>
    (_name, _options, callback) =>
      callback(null, [{ address: answers.shift() ?? "127.0.0.1", family: 4 }]);

  it("a webhook name that resolves to a private address is refused unless allowed", async () => {
    await using receiver = await startPlatform((_, response) => response.writeHead(204).end());
    const { port } = new URL(receiver.url);
    const url = `https://inside.example:${port}/`;
    let connections = 0;
    receiver.server.on("connection", () => (connections += 1));
    expect(await send({ url }, answering())).toEqual({
      kind: "unanswered",
      reason: `inside.example:${port}: 127.0.0.1 is this machine; set allowPrivate to allow it`,
    });
    expect(connections).toBe(0);
    // Where it is allowed it is connected to, and what answers there speaks no TLS.
    const allowed = await send({ url, reach: "anywhere" }, answering());
    expect([connections, allowed]).toEqual([1, expect.objectContaining({ kind: "unanswered" })]);
  });

  it("localhost in a webhook address always leads to this machine", async () => {
    const message = { url: "http://localhost:1/", reach: "anywhere" } as const;
    expect(await send(message, answering("10.0.0.1"))).toMatchObject({
      reason: "localhost:1: 10.0.0.1 is not this machine",
    });
  });
});
