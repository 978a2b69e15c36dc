/**
 * The gateway's connections to the platform. It streams in both directions and keeps no body. Redirects are handed on, since
 * the dispatcher follows none. Each call gets a connection at once: the number of calls is limited where they come in.
 */
import { Agent } from "undici";
import type { Address } from "#api/http/address.ts";
import { type AnswerStream, answerTimeoutMs, connectTimeoutMs } from "./answer-stream.ts";

export interface PlatformRequest {
  readonly address: Address;
  readonly method: string;
  /** Path and query after the prefix of the address. */
  readonly path: string;
  readonly headers: readonly string[];
  readonly body: Buffer | AsyncIterable<Buffer> | null;
}

export class PlatformConnections {
  readonly #agent = new Agent({ pipelining: 1, allowH2: false, connect: { timeout: connectTimeoutMs } });

  send({ address, method, path, headers, body }: PlatformRequest, answer: AnswerStream): void {
    this.#agent.dispatch(
      {
        origin: address.origin,
        path: address.prefix + path,
        method,
        headers: [...headers],
        body: body as Buffer | null,
        headersTimeout: answerTimeoutMs,
        bodyTimeout: answerTimeoutMs,
      },
      answer,
    );
  }

  /** Breaks the exchanges that are still in progress. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}
