import { createServer } from "node:net";
import { once } from "node:events";
import { expect, test } from "vitest";
import { systemClock } from "#core/time.ts";
import type { ControlDeps } from "#http/deps.ts";
import type { Health } from "#http/monitoring/health.ts";
import { type HttpOptions, startHttp } from "#http/server.ts";

const well = { isMoving: () => Promise.resolve(true), isReady: () => Promise.resolve(true) };
const http = { host: "127.0.0.1", hosts: [], connections: 9, requestsPerMinute: 99, uploadBytes: 9, metrics: "open" };
const optionsOf = (port: number, health: Health = well): HttpOptions => {
  const control = { version: "1.2.3", clock: systemClock, endpoints: [], config: { http: { ...http, port } } };
  return { health, control: control as unknown as ControlDeps, explained: (thrown) => thrown };
};

test("the health check returns 200 while work progresses and 503 when it does not or is unknown", async () => {
  const health = { isMoving: () => Promise.resolve(false), isReady: () => Promise.reject(new Error("no Redis")) };
  await using good = await opened(optionsOf(0));
  await using bad = await opened(optionsOf(0, health));
  const answer = await fetch(`${good.url}/healthz`);
  expect(answer.status).toBe(200);
  expect(await answer.json()).toEqual({ status: "ok", version: "1.2.3" });
  expect((await fetch(`${good.url}/readyz`)).status).toBe(200);
  expect((await fetch(`${bad.url}/healthz`)).status).toBe(503);
  expect((await fetch(`${bad.url}/readyz`)).status).toBe(503);
});

test("a configured port in use is refused with the settings to change", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const address = other.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  await expect(startHttp(optionsOf(port))).rejects.toMatchObject({
    code: "USAGE",
    message: expect.stringContaining("SIMFLEET_HTTP_PORT"),
  });
  other.close();
});

test("the default port falls back to a free one when another worker uses it", async () => {
  await using first = await opened(optionsOf(8080));
  await using second = await opened(optionsOf(8080));
  expect(second.port).not.toBe(first.port);
  expect((await fetch(`${second.url}/healthz`)).status).toBe(200);
});

async function opened(given: HttpOptions) {
  const server = await startHttp(given);
  return { ...server, [Symbol.asyncDispose]: () => server.close() };
}
