/** The endpoint of docs/webhooks.md accepts what is sent. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Secret } from "#core/secrets/secret.ts";
import { systemClock } from "#core/time.ts";
import { signaturesOf } from "#events/webhook/webhook-signature.ts";
import { unless } from "../support/left-out.ts";

const page = readFileSync("docs/webhooks.md", "utf8");
const secret = `whsec_${Buffer.alloc(32, 3).toString("base64")}`;
const other = `whsec_${Buffer.alloc(32, 4).toString("base64")}`;
const body = '{"type":"run.completed","data":{"name":"Tōkyō"}}';

/** The example of a language that defines a function of this name. */
function example(language: string, name: string): string {
  const blocks = [...page.matchAll(new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``, "g"))].map(([, code = ""]) => code);
  const code = blocks.find((block) => block.includes(name));
  if (code === undefined) throw new Error(`there is no example of ${name}`);
  return code;
}

const nowSeconds = Math.floor(systemClock.wallMs() / 1_000);
const cases: [what: string, headers: Record<string, string>, content: string, isGenuine: boolean][] = [
  ["a message", headersOf([secret]), body, true],
  ["a message while the secret is being changed", headersOf([other, secret]), body, true],
  ["a message signed by somebody else", headersOf([other]), body, false],
  ["a message whose body is another", headersOf([secret]), `${body} `, false],
  ["an old message", headersOf([secret], nowSeconds - 3_600), body, false],
];

function headersOf(secrets: readonly string[], timestampSeconds = nowSeconds): Record<string, string> {
  const deps = { id: "msg_1-1", timestampSeconds, body };
  return {
    "webhook-id": deps.id,
    "webhook-timestamp": String(timestampSeconds),
    "webhook-signature": signaturesOf(
      deps,
      secrets.map((one) => new Secret(one)),
    ),
  };
}

describe("the signature check in docs/webhooks.md", () => {
  it.each(cases)(
    "the documented signature check in Node judges %s correctly",
    async (_, headers, content, isGenuine) => {
      const code = Buffer.from(`${example("js", "function isGenuine")}\nexport { isGenuine };`).toString("base64");
      const { isGenuine: check } = (await import(/* @vite-ignore */ `data:text/javascript;base64,${code}`)) as {
        isGenuine: (headers: Record<string, string>, rawBody: string, secret: string) => boolean;
      };
      expect(check(headers, content, secret)).toBe(isGenuine);
    },
  );

  const hasPython = spawnSync("python3", ["--version"]).status === 0;
  it.runIf(hasPython).each(cases)(
    `the documented signature check in Python judges %s correctly${unless(hasPython, "no python3 here")}`,
    (_, headers, content, isGenuine) => {
      const call = `print(is_genuine(json.loads(sys.argv[1]), sys.argv[2].encode(), sys.argv[3]))`;
      const program = `import json, sys\n${example("python", "def is_genuine")}\n${call}`;
      const { stdout, stderr } = spawnSync("python3", ["-c", program, JSON.stringify(headers), content, secret], {
        env: { ...process.env, PYTHONUTF8: "1" },
      });
      expect([stdout.toString().trim(), stderr.toString()]).toEqual([isGenuine ? "True" : "False", ""]);
    },
  );
});
