/** Secret inputs of rows that the platform returns in any encoding, searched for wherever text is left. */
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { dumpOf, encodings, found, textsIn } from "../e2e/support/canary.ts";
import { answeringPlatform } from "../e2e/support/stand-in.ts";
import { isLong } from "../support/long.ts";
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

test("a secret input that the platform returns in any encoding is left in no store, answer or log", async () => {
  await using platform = await answeringPlatform({ apiKey: "canary-api-key", token: "canary-token" }, echo);
  const { harness, requests } = await openWorker({
    operations: { "set-word": setWord },
    withSeal: true,
    env: { SIMFLEET_ENDPOINT_GLOBAL: `http://127.0.0.1:${platform.port}` },
  });
  onTestFinished(() => harness[Symbol.asyncDispose]());
  const seed = Math.floor(Math.random() * 1e9);
  const secrets = fc.sample(words, { seed, numRuns: isLong ? 8 : 2 });
  const calls = secrets.flatMap((word) =>
    Array.from({ length: ways.length * answers.length }, (_, way) => [word, way] as const),
  );
  const line = ([word, way]: readonly [string, number], n: number): string =>
    `8942310000${String(n).padStart(9, "0")},"${word.replaceAll('"', '""')}",${way}\n`;
  const { runId } = await requests.start(
    "operation=set-word&partial=true",
    `simId,word,way\n${calls.map(line).join("")}`,
  );
  const report = await requests.ended(runId);
  const each = calls.length / answers.length;
  expect(report.counts).toMatchObject({ done: each, rejected: 2 * each, unknown: each });

  const run = `/v1/runs/${runId}`;
  const ofRun = [run, `${run}/rows?limit=1000`, `${run}/results`, `${run}/results?format=ndjson`];
  const others = ["/v1/runs", "/v1/sims?limit=1000", "/v1/changes?limit=1000", "/v1/audit"];
  const shown = [...ofRun, ...others].map(async (path) => {
    const answer = await harness.ask(path, { as: "admin" });
    expect([path, answer.status]).toEqual([path, 200]);
    return answer.text();
  });
  const left = {
    answers: (await Promise.all(shown)).join("\n"),
    redis: await dumpOf(harness.redis()),
    files: await textsIn(harness.folder),
    log: harness.log.join("\n"),
  };
  expect(left.answers).toContain("[secret]");
  expect(left.redis).toContain("[secret]");
  for (const [place, text] of Object.entries(left)) expect([place, found(text, secrets)]).toEqual([place, []]);
  for (const word of secrets) {
    for (const [name, encode] of ways) {
      const form = encode(word).replaceAll(/\p{Cc}+/gu, " ");
      for (const [place, text] of Object.entries(left)) {
        const at = text.indexOf(form);
        const around = at < 0 ? undefined : text.slice(Math.max(0, at - 80), at + form.length + 20);
        expect(around, `${name} of ${JSON.stringify(word)} in ${place} (seed ${seed})`).toBeUndefined();
      }
    }
  }
});
