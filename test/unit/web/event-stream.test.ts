import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EventStreamParser, reconnectDelayMs } from "../../../web/src/pure/event-stream.ts";

const stream = [
  ": welcome\n\n",
  'id: 1-0\nevent: run.completed\ndata: {"id":"1-0"}\n\n',
  ": heartbeat\r\n\r\n",
  "id:2-0\r\nevent:sim.gone\r\ndata:two\r\ndata: lines\r\n\r\n",
  "data: no id of its own\r\r",
  "retry: 10\nunknown: x\ndata\n\n",
  "data: cut off",
].join("");

const messages = [
  { id: "1-0", type: "run.completed", data: '{"id":"1-0"}' },
  { id: "2-0", type: "sim.gone", data: "two\nlines" },
  { id: "2-0", type: "message", data: "no id of its own" },
  { id: "2-0", type: "message", data: "" },
];

describe("the reader of an event stream", () => {
  it("finds the messages, and none in comments or in what is cut off", () => {
    expect(new EventStreamParser().push(stream)).toEqual(messages);
  });

  it("finds the same however the stream is cut into pieces", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(stream.length), { maxLength: 30 }), (cuts) => {
        const parser = new EventStreamParser();
        const places = [0, ...cuts.toSorted((a, b) => a - b), stream.length];
        const pieces = places.slice(1).map((end, i) => stream.slice(places[i], end));
        expect(pieces.flatMap((piece) => parser.push(piece))).toEqual(messages);
      }),
    );
  });
});

describe("the wait before a new try", () => {
  it("grows to half a minute at most, and differs from tab to tab", () => {
    expect([0, 1, 2, 3].map((tries) => reconnectDelayMs(tries, 1))).toEqual([1_000, 2_000, 4_000, 8_000]);
    expect(reconnectDelayMs(40, 1)).toBe(30_000);
    expect(reconnectDelayMs(40, 0)).toBe(15_000);
  });
});
