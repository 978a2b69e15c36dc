/** The space for new objects keeps its size where the heap is to be small. Each in a process of its own. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

interface Room {
  readonly before: number;
  readonly after: number;
}

/** The size of the room for new objects, before and after much was made of which a part lives on for a while, in MB. */
async function roomWith(begin: "keepHeapSmall" | "undefined"): Promise<Room> {
  const script = `
    import * as room from "#core/process/heap-room.ts";
    import { getHeapSpaceStatistics } from "node:v8";
    const size = () =>
      getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space").space_size / 1_048_576;
    room.${begin}?.();
    const before = size();
    let kept = [];
    let after = Number.POSITIVE_INFINITY;
    for (let n = 0; n < 1_000; n += 1) {
      for (let i = 0; i < 2_000; i += 1) kept.push({ n, i, text: [n, i] });
      if (kept.length > 200_000) kept = [];
      await new Promise((resolve) => setImmediate(resolve));
      // While it is cleared, what is moved counts as well.
      if (n >= 900) after = Math.min(after, size());
    }
    console.log(JSON.stringify({ before, after }));
  `;
  const args = ["--input-type=module", "-e", script];
  return JSON.parse((await run(process.execPath, args)).stdout) as Room;
}

test("the space for new objects does not grow when the heap must stay small", async () => {
  const small = await roomWith("keepHeapSmall");
  const free = await roomWith("undefined");
  expect(small.after).toBeLessThanOrEqual(2 * small.before);
  expect(free.after).toBeGreaterThan(4 * small.after);
}, 600_000);
