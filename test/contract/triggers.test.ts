/** Signed messages from outside that trigger a schedule. */
import { createHmac } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import { answerOf, ControlHarness } from "./support/control-harness.ts";

const key = Buffer.alloc(24, 7);
const sharedKey = Buffer.alloc(32, "shared-key");
const harness = await ControlHarness.ofFile({
  prepare: async (folder) => {
    const file = join(folder, "trigger");
    await writeFile(file, `whsec_${key.toString("base64")}\n`, { mode: 0o600 });
    const shared = join(folder, "shared");
    await writeFile(shared, `whsec_${sharedKey.toString("base64")}\n`, { mode: 0o600 });
    // The same key as bytes, as it can be given too.
    const same = join(folder, "same");
    await writeFile(same, sharedKey, { mode: 0o600 });
    return `schedules:
  nightly: { job: sync, cron: "0 3 * * *", triggerSecretFile: ${file} }
  bare: { job: sync, cron: "0 4 * * *" }
  east: { job: sync, cron: "0 5 * * *", triggerSecretFile: ${shared} }
  west: { job: sync, cron: "0 6 * * *", triggerSecretFile: ${same} }
`;
  },
});

/** As a sender does it that knows the specification and nothing of us. */
function send(
  how: { id?: string; atMs?: number; body?: string; sent?: string; schedule?: string; key?: Buffer } = {},
): Promise<Response> {
  const { id = "msg_1", atMs = Date.now(), body = '{"type":"deploy"}', schedule = "nightly" } = how;
  const timestamp = String(Math.floor(atMs / 1_000));
  const digest = createHmac("sha256", how.key ?? key)
    .update(`${id}.${timestamp}.${body}`)
    .digest("base64");
  const headers = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${digest}`,
  };
  return fetch(`${harness.url}/v1/triggers/${schedule}`, { method: "POST", headers, body: how.sent ?? body });
}

const triggered = async (): Promise<number> => {
  const { entries } = await harness.audit.list({ limit: 100 });
  return entries.filter(({ who, status }) => who === "trigger:nightly" && status === 202).length;
};

test("a signed message triggers its schedule and is audited", async () => {
  expect(await answerOf(send())).toEqual([202, { schedule: "nightly" }]);
  await until("it is written down", async () => (await triggered()) === 1);
  expect((await send()).status).toBe(202); // the same message again is taken, and asks for nothing new
});

test.each([
  ["with another key", { key: Buffer.alloc(24, 8) }],
  ["whose body was changed", { sent: '{"type":"other"}' }],
  ["of an hour ago", { atMs: Date.now() - 3_600_000 }],
  ["for a schedule that has no secret", { schedule: "bare" }],
  ["for a schedule that is not there", { schedule: "nothing" }],
  ["for a name of Object's own", { schedule: "constructor" }],
])("a message %s is refused", async (_, how) => {
  expect(await answerOf(send({ id: "msg_2", ...how }))).toMatchObject([401, { code: "UNAUTHENTICATED" }]);
});

test("a message without a signature is refused even with an admin token", async () => {
  const answer = await harness.ask("/v1/triggers/nightly", { as: "admin", method: "POST", body: "{}" });
  expect(answer.status).toBe(401);
});

test("a message for one of two schedules with the same secret cannot be redirected to the other", async () => {
  const forEast = { id: "msg_3", key: sharedKey, body: '{"schedule":"east","reason":"deploy"}' };
  const turned = answerOf(send({ ...forEast, schedule: "west" }));
  const detail = expect.stringContaining('"west"') as unknown;
  expect(await turned).toMatchObject([401, { code: "UNAUTHENTICATED", detail }]);
  expect((await send({ ...forEast, schedule: "east" })).status).toBe(202);
});

test.each(["", "{}", '{"type":"deploy"}', "[]", '"east"', "null", '{"schedule":["east"]}', '{"schedule":"West"}'])(
  "a message whose body %s does not name the schedule is refused when schedules share the secret",
  async (body) => {
    for (const schedule of ["east", "west"]) {
      expect((await send({ id: "msg_4", key: sharedKey, body, schedule })).status).toBe(401);
    }
  },
);

test("a message for a schedule with its own secret does not trigger another schedule", async () => {
  expect((await send({ id: "msg_5", schedule: "east" })).status).toBe(401);
});
