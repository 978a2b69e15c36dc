/** The sender of signed messages: what the specification says, and what no receiver can make it do. */
import { createHmac } from "node:crypto";
import { describe, expect, it, onTestFinished } from "vitest";
import { Secret } from "#core/secret.ts";
import { systemClock } from "#core/time.ts";
import { signaturesOf } from "#events/webhook-signature.ts";
import { WebhookSender } from "#events/webhook.ts";
import { startPlatform } from "../api/support.ts";

const secret = new Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");

function sender(deadlineMs?: number): WebhookSender {
  const made = new WebhookSender({ clock: systemClock, userAgent: "simfleet/test", deadlineMs });
  onTestFinished(() => made.close());
  return made;
}

describe("a signature", () => {
  it("is that of the specification's example", () => {
    const parts = { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestampSeconds: 1_614_265_330, body: '{"test": 2432232314}' };
    expect(signaturesOf(parts, [secret])).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  });

  it("is made for each secret while one is being changed", () => {
    const next = new Secret(`whsec_${Buffer.alloc(32, 7).toString("base64")}`);
    const parts = { id: "a", timestampSeconds: 1, body: "{}" };
    expect(signaturesOf(parts, [secret, next]).split(" ")).toEqual([
      signaturesOf(parts, [secret]),
      signaturesOf(parts, [next]),
    ]);
  });

  it.each(["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", "whsec_dG9vc2hvcnQ=", "whsec_no base64 at all, by far"])(
    "is not made with %s",
    (text) => {
      const parts = { id: "a", timestampSeconds: 1, body: "{}" };
      expect(() => signaturesOf(parts, [new Secret(text)])).toThrow("whsec_ and base64");
    },
  );
});

describe("a message", () => {
  it("arrives as the receiver's library wants it", async () => {
    await using receiver = await startPlatform((_, response) => response.writeHead(204).end());
    const body = '{"type":"x"}';
    const delivery = await sender().send({ url: `${receiver.url}/hook?a=1`, id: "m-1", body, secrets: [secret] });
    expect(delivery).toEqual({ kind: "accepted", status: 204 });
    const [seen] = receiver.seen;
    expect(seen).toMatchObject({ method: "POST", path: "/hook?a=1", body });
    const { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": signature } = seen?.headers ?? {};
    expect([id, Math.abs(Number(at) - systemClock.wallMs() / 1_000) < 5]).toEqual(["m-1", true]);
    const key = Buffer.from(secret.reveal().slice(6), "base64");
    expect(signature).toBe(
      `v1,${createHmac("sha256", key)
        .update(`m-1.${String(at)}.${body}`)
        .digest("base64")}`,
    );
  });

  it.each([
    [301, true],
    [307, true],
    [400, true],
    [410, true],
    [408, false],
    [429, false],
    [500, false],
    [503, false],
  ])("that meets %i is refused, for good: %s", async (status, isFinal) => {
    await using elsewhere = await startPlatform((_, response) => response.writeHead(200).end());
    await using receiver = await startPlatform((_, response) => {
      response.writeHead(status, { location: elsewhere.url, "retry-after": "7" }).end("x".repeat(100_000));
    });
    const delivery = await sender().send({ url: receiver.url, id: "m", body: "{}", secrets: [secret] });
    expect(delivery).toEqual({ kind: "refused", status, isFinal, retryAfterMs: 7_000 });
    expect(elsewhere.seen).toEqual([]);
  });

  it("that nobody answers is given up at the deadline, and one that cannot be sent at once", async () => {
    await using silent = await startPlatform(() => undefined);
    const message = { url: silent.url, id: "m", body: "{}", secrets: [secret] };
    expect(await sender(50).send(message)).toEqual({
      kind: "unanswered",
      reason: `${new URL(silent.url).host}: no answer within 0.05 s`,
    });
    expect(await sender().send({ ...message, url: "http://127.0.0.1:1" })).toMatchObject({ kind: "unanswered" });
  });

  it.each(["http://example.com/", "ftp://127.0.0.1/", "https://user:pass@example.com/", "nonsense"])(
    "is not sent to %s",
    async (url) => {
      await expect(sender().send({ url, id: "m", body: "{}", secrets: [secret] })).rejects.toThrow("goes to https");
    },
  );
});
