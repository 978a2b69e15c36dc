/** What a connection does when the Sentinels name another primary. */
import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { reconnect } from "#redis/connection.ts";

function setup(status: string) {
  const calls: boolean[] = [];
  const redis = Object.assign(new EventEmitter(), { status, disconnect: (again = false) => void calls.push(again) });
  reconnect(redis as unknown as Parameters<typeof reconnect>[0]);
  return { redis, calls };
}

it.each(["ready", "connect"])("a connection that is %s asks for the new primary at once", (status) => {
  expect(setup(status).calls).toEqual([true]);
});

it.each(["connecting", "reconnecting"])(
  "a connection that is %s does so once it is made, and does not end",
  (status) => {
    const { redis, calls } = setup(status);
    expect(calls).toEqual([]);
    redis.emit("connect");
    redis.emit("connect");
    expect(calls).toEqual([true]);
  },
);
