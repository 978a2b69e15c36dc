/** What a worker does when it holds work and starts none. */
import { afterEach, expect, it, vi } from "vitest";
import { systemClock } from "#core/time.ts";
import { watchProgress } from "#kernel/serve.ts";

afterEach(() => vi.useRealTimers());

function setup(isMoving: () => boolean) {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  let nowMs = 0;
  const said: string[] = [];
  const consumer = {
    isMoving: () => Promise.resolve(isMoving()),
    restart: () => Promise.resolve(void said.push("restart")),
    stop: () => Promise.resolve(),
  };
  const stop = watchProgress([consumer], {
    clock: { ...systemClock, monotonicMs: () => nowMs },
    onStuck: () => said.push("stuck"),
    onGivenUp: () => said.push("given up"),
  });
  const pass = async (seconds: number): Promise<void> => {
    for (let at = 0; at < seconds; at += 10) {
      nowMs += 10_000;
      await vi.advanceTimersByTimeAsync(10_000);
    }
  };
  return { said, pass, stop };
}

it("a worker that makes progress is left alone", async () => {
  const { said, pass, stop } = setup(() => true);
  await pass(600);
  stop();
  expect(said).toEqual([]);
});

it("a worker that is stuck is reported and gets new connections, and gives up when it is stuck again soon", async () => {
  let isMoving = false;
  const { said, pass, stop } = setup(() => isMoving);
  await pass(10);
  expect(said).toEqual(["stuck", "restart"]);
  isMoving = true;
  await pass(60);
  isMoving = false;
  await pass(10);
  expect(said).toEqual(["stuck", "restart", "given up"]);
  stop();
});

it("a worker that is stuck again much later gets new connections again", async () => {
  let isMoving = false;
  const { said, pass, stop } = setup(() => isMoving);
  await pass(10);
  isMoving = true;
  await pass(600);
  isMoving = false;
  await pass(10);
  expect(said).toEqual(["stuck", "restart", "stuck", "restart"]);
  stop();
});
