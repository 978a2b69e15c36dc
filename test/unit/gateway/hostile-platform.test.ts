/**
 * Answers that no platform should give, raw over TCP: to the platform client and to the gateway. Each call has an
 * outcome, each permit ends, and the process serves the next call.
 */
import { once } from "node:events";
import type { ClientRequest } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { PlatformError } from "#core/errors.ts";
import { systemClock } from "#core/time.ts";
import { seededRandom } from "#sandbox/seeded.ts";
import { seeds } from "../../support/long.ts";
import { updateSimSpeedClass } from "../../support/speed-class.ts";
import { clientFor, OpenPermits } from "../api/support.ts";
import { beginCall, call, headOf, openGateway } from "./support.ts";

const cases = seeds(400, 2_000);
const atOnce = 16;

type Pick = <T>(...among: readonly T[]) => T;

const crlf = "\r\n";
const reasons = [" OK", " ", "", " \u00ff\u0080", " 成功", " \u0001\u007f", " \t x", " a\0b", ` ${"x".repeat(9_000)}`];
const statuses = ["200", "200", "200", "201", "204", "206", "301", "304", "400", "401", "403", "404", "409", "422"];
const oddStatuses = ["429", "500", "503", "600", "999", "099", "000", "101", "2000", "20", "abc", "-1", ""];
const headerSets = [
  [],
  ["Content-Type: application/json", "Server: x"],
  Array.from({ length: 100 }, (_, n) => `X-Many-${n}: ${n}`),
  Array.from({ length: 3_000 }, (_, n) => `X-Many-${n}: ${n}`),
  ["X-Name: 日本語", "X-Byte: \u00ff"],
  ["X-Control: a\u0001b"],
  ["X-Delete: a\u007fb"],
  ["X-Null: a\0b"],
  ["X-Folded: a", " b"],
  ["X Bad Name: 1"],
  ["日本: 1"],
  [": no name"],
  ["no colon"],
  [`X-Long: ${"x".repeat(70_000)}`],
  ["Set-Cookie: a=b", "Set-Cookie: c=d; Path=/\u00e9"],
  ["Connection: x-hop, \u00ff,,", "X-Hop: 1"],
  ["Connection: upgrade", "Upgrade: websocket"],
  ["Trailer: X-After", "X-Svc-Next-Key: \u2028"],
  ["Content-Encoding: gzip"],
  ["X-Svc-RateLimit-Limit: -1", "X-Svc-RateLimit-Remaining: 1e9", "X-Svc-RateLimit-Seconds-Before-Refresh: x"],
  ["Retry-After: Wed, 99 Foo", "Date: never"],
  ["Location: //\u00e9/\u0080"],
];
const early = ["", "", "", "", "100 Continue", "102 Processing", "103 Early\u00ff", "101 Switching Protocols", "199"];
const json = '{"imsi":"001","speedClass":"s1.fast"}';

/** One answer, as the bytes of a connection. */
function rawAnswer(pick: Pick): Buffer {
  const interim = pick(...early);
  const before = interim === "" ? "" : `HTTP/1.1 ${interim}${crlf}Link: </x>${crlf}${crlf}`;
  const version = pick("HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTP/1.1", "");
  const status = pick(true, true, true, false) ? pick(...statuses) : pick(...oddStatuses);
  const body = pick(json, json, json, "", "<html>", "\u0000\u00ff", "[".repeat(5_000), json.repeat(2_000));
  const [framing, written] = framed(Buffer.from(body, pick("utf8", "latin1")), pick);
  const head = [`${version} ${status}${pick(...reasons)}`, ...pick(...headerSets), ...framing].join(crlf);
  // Text beyond Latin-1 is sent as UTF-8, which is not valid in a head either.
  const encoding = pick("utf8", "latin1");
  return Buffer.concat([Buffer.from(before, "latin1"), Buffer.from(`${head}${crlf}${crlf}`, encoding), written]);
}

/** The headers that say where a body ends, and the body, which may not agree. */
function framed(body: Buffer, pick: Pick): readonly [readonly string[], Buffer] {
  const { length } = body;
  const chunk = (size: string): Buffer => Buffer.concat([Buffer.from(size + crlf), body, Buffer.from(crlf)]);
  const last = Buffer.from(`0${crlf}${crlf}`);
  const chunked = "Transfer-Encoding: chunked";
  const size = length.toString(16);
  return pick<readonly [readonly string[], Buffer]>(
    [[`Content-Length: ${length}`], body],
    [[`Content-Length: ${length}`], body],
    [[], body],
    [[`Content-Length: ${length + 10}`], body],
    [[`Content-Length: ${Math.max(0, length - 1)}`], body],
    [[`Content-Length: ${length}`, `Content-Length: ${length}`], body],
    [[`Content-Length: ${length}`, `Content-Length: ${length + 1}`], body],
    [["Content-Length: -1"], body],
    [["Content-Length: 99999999999999999999"], body],
    [[`Content-Length: ${length}`, chunked], Buffer.concat([chunk(size), last])],
    [[chunked], Buffer.concat([chunk(size), last])],
    [[chunked], chunk(size)],
    [[chunked], Buffer.concat([chunk((length + 5).toString(16)), last])],
    [[chunked], Buffer.concat([chunk((length >> 1).toString(16)), last])],
    [[chunked], Buffer.concat([chunk("zz"), last])],
    [[chunked], Buffer.concat([chunk(`${size};x="\u00ff`), Buffer.from(`0${crlf}X-After: \u00ff${crlf}${crlf}`)])],
    [["Transfer-Encoding: gzip, chunked"], Buffer.concat([chunk(size), last])],
  );
}

const good = (body: string): string =>
  `HTTP/1.1 200 OK${crlf}Content-Length: ${Buffer.byteLength(body)}${crlf}${crlf}${body}`;

/** Answers each call by the SIM in its path: the first with that case's bytes, a repeated one with a good answer. */
async function startRawPlatform(seed: number) {
  const answered = new Set<string>();
  const write = (socket: Socket, path: string): void => {
    if (path === "/v1/auth") {
      socket.end(good('{"operatorId":"OP1","apiKey":"api-key-1","token":"token-1"}'));
      return;
    }
    const caseNumber = Number(/89(\d{17})/.exec(path)?.[1]);
    if (caseNumber >= cases || answered.has(path)) return void socket.end(good(json));
    answered.add(path);
    const random = seededRandom(seed + caseNumber);
    const pick: Pick = (...among) => among[Math.floor(random() * among.length)] as (typeof among)[number];
    const bytes = rawAnswer(pick);
    const cut = pick(bytes.length, bytes.length, bytes.length, Math.floor(random() * bytes.length));
    const split = Math.floor(random() * cut);
    socket.write(bytes.subarray(0, split));
    const end = pick(true, true, true, false);
    setImmediate(() => (end ? socket.end(bytes.subarray(split, cut)) : socket.resetAndDestroy()));
  };
  const server = createServer((socket) => {
    let text = "";
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      const [head = "", ...rest] = text.split(crlf + crlf);
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (rest.join(crlf + crlf).length < length || !text.includes(crlf + crlf)) return;
      text = "";
      write(socket, head.split(" ")[1] ?? "");
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const close = async (): Promise<void> => void (await once(server.close(), "close"));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    again: () => answered.clear(),
    [Symbol.asyncDispose]: close,
  };
}

const simIdOf = (caseNumber: number): string => `89${String(caseNumber).padStart(17, "0")}`;

/** The outcomes of all cases, some at once. */
async function outcomesOf(outcome: (caseNumber: number) => Promise<unknown>): Promise<unknown[]> {
  const outcomes: unknown[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < cases) {
      const caseNumber = next++;
      outcomes[caseNumber] = await outcome(caseNumber);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return outcomes;
}

/** Expects that each permit that was granted has ended. */
function expectAllEnded({ requests, diary }: OpenPermits): void {
  expect(diary.filter((what) => /(?:answered|lost|giveBack)$/.test(what))).toHaveLength(requests.length);
}

/** The status of the answer, whose body may break off, as the platform's did. */
async function statusOf(begun: ClientRequest): Promise<number | undefined> {
  const message = await headOf(begun);
  return message.on("error", () => undefined).resume().statusCode;
}

describe("a platform that answers with anything", () => {
  it("each call of the client has an outcome, and no permit is kept", async () => {
    await using platform = await startRawPlatform(1);
    const permits = new OpenPermits();
    await using client = clientFor(platform.url, { permits, clock: systemClock });
    const change = (caseNumber: number): Promise<unknown> =>
      client.call(updateSimSpeedClass, { key: simIdOf(caseNumber), inputs: ["s1.fast"] });
    const codeOf = (thrown: unknown) => (thrown instanceof PlatformError ? thrown.code : thrown);
    const outcomes = await outcomesOf((caseNumber) => change(caseNumber).then(() => "value", codeOf));
    const codes = ["RESPONSE_INVALID", "FORBIDDEN", "REJECTED", "RATE_LIMITED", "UNAVAILABLE"];
    expect(["value", ...codes.map((code) => `PLATFORM_${code}`)]).toEqual(expect.arrayContaining(outcomes));
    expect(new Set(outcomes).size).toBeGreaterThan(4);
    expectAllEnded(permits);
    expect(await change(cases)).toMatchObject({ imsi: "001" });
  });

  it("each call through the gateway gets the head of an answer, and no permit is kept", async () => {
    await using platform = await startRawPlatform(1);
    await using gateway = await openGateway(platform.url);
    const path = (caseNumber: number): string => `/v1/sims/${simIdOf(caseNumber)}/update_speed_class`;
    const heads = await outcomesOf((caseNumber) =>
      statusOf(beginCall(gateway.url, path(caseNumber), { method: "POST" }).end("{}")).catch(
        (thrown: unknown) => `case ${caseNumber}: ${String(thrown)}`,
      ),
    );
    expect(heads.filter((head) => typeof head !== "number")).toEqual([]);
    expectAllEnded(gateway.permits);
    expect(gateway.log.filter((line) => line.includes("a connection to the gateway failed"))).toEqual([]);
    expect((await call(gateway.url, path(cases), { method: "POST", body: "{}" })).status).toBe(200);
  });
});
