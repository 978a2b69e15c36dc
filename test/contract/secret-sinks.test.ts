/** Secret inputs of rows that the platform returns in any encoding, searched for wherever text is left. */
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { dumpOf, encodings, found, textsIn } from "../e2e/support/canary.ts";
import { answeringPlatform } from "../e2e/support/stand-in.ts";
import { isLong } from "../support/long.ts";
import type { ControlHarness } from "./support/control-harness.ts";
import { openWorker } from "./support/run-requests.ts";

const setWord = {
  summary: "Set a word that nobody may see",
  method: "POST",
  path: "/v1/sims/{simId}/set_word",
  group: "Sim",
  input: { word: { required: true, secret: true }, way: { required: true } },
  body: { word: "{word}", way: "{way}" },
  statuses: [200],
  answer: "record",
  repeat: "unsafe",
};

const ways: readonly (readonly [string, (secret: string) => string])[] = [
  ...Object.entries(encodings),
  ["in upper case", (secret) => secret.toUpperCase()],
  ["in lower case", (secret) => secret.toLowerCase()],
];
/** With characters that URLs, JSON and HTML write in another way. */
const words = fc
  .string({ unit: fc.constantFrom(..."abcXYZ019 +/=-_~%&<>\"\\'()*!ö".split("")), minLength: 10, maxLength: 24 })
  .map((text) => `w${text}z`);

type Answer = { readonly status: number; readonly body: unknown };
const answers: readonly ((text: string, simId: string | undefined) => Answer)[] = [
  (text) => ({ status: 400, body: { code: text, message: `no access with ${text}` } }),
  (text) => ({ status: 422, body: text }),
  (text) => ({ status: 200, body: { speedClass: { [text]: text } } }),
  (text, simId) => {
    const tags = { note: `is ${text}`, [text]: "x", list: [text] };
    return { status: 200, body: { simId, speedClass: text, status: "active", tags } };
  },
];

/** Rejects, responds with something that is no record, or with a record; each holds the word in one encoding. */
function echo({ path, body }: { readonly path: string; readonly body: string }): Answer {
  const { word, way } = JSON.parse(body) as { word: string; way: string };
  const [, encode] = ways[Math.trunc(Number(way) / answers.length)] ?? [];
  const [, , , simId] = path.split("/");
  return answers[Number(way) % answers.length]?.(encode?.(word) ?? "", simId) ?? { status: 404, body: {} };
}

/** Each word in each way and each answer, as the rows of a file. */
function fileOf(secrets: readonly string[]): string {
  const places = Array.from({ length: ways.length * answers.length }, (_, way) => way);
  const cells = secrets.flatMap((word) => places.map((way) => `"${word.replaceAll('"', '""')}",${way}`));
  const rows = cells.map((row, n) => `8942310000${String(n).padStart(9, "0")},${row}\n`);
  return `simId,word,way\n${rows.join("")}`;
}

/** A worker that has sent words to a platform that echoes them. */
async function setup() {
  const platform = await answeringPlatform({ apiKey: "canary-api-key", token: "canary-token" }, echo);
  const { harness, requests } = await openWorker({
    operations: { "set-word": setWord },
    withSeal: true,
    env: { SIMFLEET_ENDPOINT_GLOBAL: `http://127.0.0.1:${platform.port}` },
  });
  onTestFinished(async () => {
    await harness[Symbol.asyncDispose]();
    await platform[Symbol.asyncDispose]();
  });
  const seed = Math.floor(Math.random() * 1e9);
  const secrets = fc.sample(words, { seed, numRuns: isLong ? 8 : 2 });
  const { runId, counts } = await requests.complete("operation=set-word&partial=true", fileOf(secrets));
  return { harness, runId, counts, secrets, seed };
}

/** Everything that could show a word. */
async function leftBy(harness: ControlHarness, runId: string) {
  const run = `/v1/runs/${runId}`;
  const ofRun = [run, `${run}/rows?limit=1000`, `${run}/results`, `${run}/results?format=ndjson`];
  const others = ["/v1/runs", "/v1/sims?limit=1000", "/v1/changes?limit=1000", "/v1/audit"];
  const shown = [...ofRun, ...others].map(async (path) => {
    const answer = await harness.ask(path, { as: "admin" });
    expect([path, answer.status]).toEqual([path, 200]);
    return answer.text();
  });
  return {
    answers: (await Promise.all(shown)).join("\n"),
    redis: await dumpOf(harness.redis()),
    files: await textsIn(harness.folder),
    log: harness.log.join("\n"),
  };
}

test("a secret input that the platform returns in any encoding is left in no store, answer or log", async () => {
  const { harness, runId, counts, secrets, seed } = await setup();
  const each = secrets.length * ways.length;
  expect(counts).toMatchObject({ done: each, rejected: 2 * each, unknown: each });
  const left = await leftBy(harness, runId);
  expect(left.answers).toContain("[secret]");
  expect(left.redis).toContain("[secret]");
  const all = secrets.flatMap((word) => [word, word.toUpperCase(), word.toLowerCase()]);
  for (const [place, text] of Object.entries(left)) {
    expect([place, found(text, all)], `seed ${seed}`).toEqual([place, []]);
  }
});
