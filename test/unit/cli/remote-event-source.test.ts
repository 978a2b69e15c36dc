/** The events of a remote worker are the same however its stream is cut into chunks. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { remoteEvents } from "#cli/remote-worker.ts";

const stream = [
  ": welcome\n\n",
  'id: 1-0\nevent: run.completed\ndata: {"id":"1-0"}\n\n',
  ": heartbeat\r\n\r\n",
  'id:2-0\r\nevent:sim.gone\r\ndata:{"id":\r\ndata: "2-0"}\r\n\r\n',
  'id: 3-0\ndata: {"id":"3-0"}\n\n',
  'data: {"id":"cut',
].join("");

/** The ids of the events that arrive in these chunks. */
async function idsIn(chunks: readonly string[]): Promise<string[]> {
  const interrupt = new AbortController();
  const text = async function* () {
    for (const chunk of chunks) yield await Promise.resolve(chunk);
    interrupt.abort();
  };
  const how = { id: "0-0", interrupt: interrupt.signal, say: () => undefined };
  const ids: string[] = [];
  const choice = { type: undefined, profile: undefined };
  for await (const events of remoteEvents(text, choice, how)) ids.push(...events.map(({ id }) => id));
  return ids;
}

it("an event stream parser finds all events and ignores comments and incomplete ones", async () => {
  const cuts = fc.array(fc.nat(stream.length), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(cuts, async (unsorted) => {
      const places = [0, ...unsorted.toSorted((a, b) => a - b), stream.length];
      const chunks = places.slice(1).map((end, i) => stream.slice(places[i], end));
      expect(await idsIn(chunks)).toEqual(["1-0", "2-0", "3-0"]);
    }),
  );
});
