/**
 * A TCP proxy in front of Redis or the platform that breaks connections the way networks do: it delays, holds back (and
 * delivers later), cuts at once or in the middle of a reply, and rejects. One worker has its own, so that the others
 * still reach what it has lost.
 */
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket, connect } from "node:net";
import { after, nowMs } from "../time.ts";

export type ProxyMode = "pass" | "delay" | "stall" | "cut-reply" | "refuse";

/** One way of a connection: bytes that wait, each with the time at which it may continue. */
interface Way {
  readonly to: Socket;
  readonly waiting: { readonly bytes: Buffer; readonly dueMs: number }[];
}

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
  readonly ways: readonly Way[];
}

export class Proxy {
  readonly #server: Server;
  readonly #targetPort: number;
  readonly #pairs = new Set<Pair>();
  /** Replies of which only a part arrived. */
  cutReplies = 0;
  /** Connections that were reset at once. Whoever has opened one cannot know how far its request got. */
  refused = 0;
  #mode: ProxyMode = "pass";
  #delayMs = 0;

  private constructor(targetPort: number) {
    this.#targetPort = targetPort;
    this.#server = createServer((near) => this.#accept(near));
  }

  static async open(targetPort: number): Promise<Proxy> {
    const proxy = new Proxy(targetPort);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Open connections through it. */
  get connections(): number {
    return this.#pairs.size;
  }

  /** `refuse` also ends the present connections. */
  set(mode: ProxyMode, delayMs = 0): void {
    this.#mode = mode;
    this.#delayMs = delayMs;
    if (mode === "refuse") this.cut();
    for (const { ways } of this.#pairs) for (const way of ways) this.#flush(way);
  }

  /** Resets every present connection. @returns how many */
  cut(): number {
    const count = this.#pairs.size;
    for (const pair of this.#pairs) this.#end(pair);
    return count;
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }

  #accept(near: Socket): void {
    near.on("error", () => undefined);
    if (this.#mode === "refuse") {
      this.refused += 1;
      return void near.resetAndDestroy();
    }
    const far = connect(this.#targetPort, "127.0.0.1");
    const [up, down]: Way[] = [
      { to: far, waiting: [] },
      { to: near, waiting: [] },
    ];
    if (up === undefined || down === undefined) return;
    const pair: Pair = { near, far, ways: [up, down] };
    this.#pairs.add(pair);
    for (const socket of [near, far]) {
      socket.setNoDelay(true);
      socket.on("error", () => this.#end(pair));
      socket.on("close", () => this.#end(pair));
    }
    near.on("data", (bytes: Buffer) => this.#forward(pair, up, bytes));
    far.on("data", (bytes: Buffer) => this.#forward(pair, down, bytes));
  }

  #forward(pair: Pair, way: Way, bytes: Buffer): void {
    if (this.#mode === "cut-reply" && way.to === pair.near) {
      // A part arrives, then the connection is gone.
      this.cutReplies += 1;
      way.to.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => this.#end(pair));
      return;
    }
    way.waiting.push({ bytes, dueMs: nowMs() + (this.#mode === "delay" ? this.#delayMs : 0) });
    this.#flush(way);
  }

  /** Passes on what is due, in order: also after the mode has changed, no byte overtakes another. */
  #flush(way: Way): void {
    while (this.#mode !== "stall") {
      const [first] = way.waiting;
      if (first === undefined) return;
      const leftMs = first.dueMs - nowMs();
      if (leftMs > 0) return after(leftMs, () => this.#flush(way));
      way.waiting.shift();
      way.to.write(first.bytes);
    }
  }

  #end(pair: Pair): void {
    if (!this.#pairs.delete(pair)) return;
    pair.near.resetAndDestroy();
    pair.far.destroy();
  }
}
