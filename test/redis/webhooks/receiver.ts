/** A webhook endpoint as a third party would write it: it verifies signatures with its own code. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { startPlatform } from "../../unit/api/support.ts";

/** A message that was verified. */
export interface Received {
  readonly path: string;
  /** The `webhook-id`. */
  readonly id: string;
  readonly body: { type: string; timestamp: string; data: Record<string, string> };
}

export interface Receiver extends AsyncDisposable {
  readonly url: string;
  /** Every request that was verified, in the order of their coming. */
  readonly received: readonly Received[];
  /** Requests that were not. */
  readonly forged: number;
  /** Decides the status of the next answers; 204 by default. */
  answerWith(status: (message: Received) => number | Promise<number>): void;
}

export async function openReceiver(secret: string): Promise<Receiver> {
  const received: Received[] = [];
  let forged = 0;
  let decide: (message: Received) => number | Promise<number> = () => 204;
  const endpoint = await startPlatform((request, response) => {
    const { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": signatures } = request.headers;
    if (!isSigned(`${String(id)}.${String(at)}.${request.text}`, String(signatures), secret)) {
      forged += 1;
      return void response.writeHead(401).end();
    }
    const message = { path: request.url ?? "", id: String(id), body: JSON.parse(request.text) as Received["body"] };
    received.push(message);
    void Promise.resolve(decide(message)).then((status) => response.writeHead(status).end());
  });
  return {
    url: `${endpoint.url}/hook`,
    received,
    get forged() {
      return forged;
    },
    answerWith: (status) => (decide = status),
    [Symbol.asyncDispose]: () => endpoint[Symbol.asyncDispose](),
  };
}

function isSigned(content: string, header: string, secret: string): boolean {
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const expected = createHmac("sha256", key).update(content).digest();
  return header.split(" ").some((signature) => {
    const [version, text = ""] = signature.split(",");
    const given = Buffer.from(text, "base64");
    return version === "v1" && given.length === expected.length && timingSafeEqual(given, expected);
  });
}
