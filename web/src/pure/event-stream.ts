/**
 * Parses a server-sent event stream from chunks of any size. The browser's own EventSource cannot send an Authorization
 * header, and a token does not belong in an address. Grammar: the HTML standard, section 9.2.6.
 */

export interface Message {
  /** Last id of the stream, from which to resume after a disconnect. */
  readonly id: string;
  readonly type: string;
  readonly data: string;
}

export class EventStreamParser {
  #rest = "";
  #id = "";
  #type = "";
  #data: string[] = [];

  /** Messages completed by this chunk; comments, such as the heartbeat, are skipped. */
  push(piece: string): Message[] {
    const messages: Message[] = [];
    const text = this.#rest + piece;
    // A CR at the end may be the first half of a CRLF, so it is kept for the next chunk.
    const end = text.endsWith("\r") ? text.length - 1 : text.length;
    const lines = text.slice(0, end).split(/\r\n|\n|\r/);
    this.#rest = (lines.pop() ?? "") + text.slice(end);
    for (const line of lines) {
      if (line === "") this.#complete(messages);
      else this.#take(line);
    }
    return messages;
  }

  #take(line: string): void {
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#type = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
  }

  #complete(messages: Message[]): void {
    const [type, data] = [this.#type, this.#data];
    this.#type = "";
    this.#data = [];
    if (data.length > 0) messages.push({ id: this.#id, type: type || "message", data: data.join("\n") });
  }
}

/** Delay before reconnect attempt n, from 0: doubles up to 30 s, with jitter so that tabs do not reconnect at once. */
export function reconnectDelayMs(tries: number, chance: number): number {
  const most = Math.min(30_000, 1_000 * 2 ** tries);
  return Math.round(most * (0.5 + chance / 2));
}
