/** The room for new objects grows only where it may, and only up to its bound. Each in a process of its own. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

/** The size of the room for new objects after much was made of which a part lives on for a while, in MB. */
async function roomAfter(begin: "keepHeapSmall" | "letHeapGrow" | "undefined"): Promise<number> {
  const script = `
    import * as room from "#core/heap-room.ts";
    import { getHeapSpaceStatistics } from "node:v8";
    room.${begin}?.();
    let kept = [];
    for (let n = 0; n < 2_000; n += 1) {
      for (let i = 0; i < 2_000; i += 1) kept.push({ n, i, text: [n, i] });
      if (kept.length > 200_000) kept = [];
      await new Promise((resolve) => setImmediate(resolve));
    }
    const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
    console.log(space.space_size / 1_048_576);
  `;
  const args = ["--conditions=source", "--input-type=module", "-e", script];
  return Number((await run(process.execPath, args)).stdout);
}

test("the room for new objects grows up to its bound, and not at all where the heap is to be small", async () => {
  const [small, bounded, free] = [
    await roomAfter("keepHeapSmall"),
    await roomAfter("letHeapGrow"),
    await roomAfter("undefined"),
  ];
  expect(small).toBeLessThanOrEqual(2);
  expect(bounded).toBeGreaterThan(small);
  expect(bounded).toBeLessThanOrEqual(32);
  expect(free).toBeGreaterThan(bounded);
}, 30_000);
