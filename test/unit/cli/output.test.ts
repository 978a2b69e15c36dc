import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { Output } from "#cli/output.ts";
import { tokensCommand } from "#cli/commands/tokens.ts";
import { Context } from "#cli/context.ts";
import { Secret } from "#core/secret.ts";
import { csvLine, defused } from "#intake/cell.ts";

class Sink {
  text = "";
  write(text: string): void {
    this.text += text;
  }
}

function open(isJson = false): { output: Output; stdout: Sink; stderr: Sink } {
  const stdout = new Sink();
  const stderr = new Sink();
  return { output: new Output({ isJson, stdout, stderr }), stdout, stderr };
}

const held: Secret[] = [];
afterEach(() => {
  for (const secret of held.splice(0)) secret.forget();
});

/** What has the shape of a secret, but is none of ours: it is the user's data. */
const secretLike = fc
  .tuple(
    fc.constantFrom(
      "token=",
      "password=",
      "authKey=",
      "secret: ",
      "Authorization: Bearer ",
      "X-Acme-Token: ",
      "x-acme-api-key=",
      '"token":"',
      "redis://user:hunter2@",
      "https://a:b@",
      "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.",
      "sf_",
    ),
    fc.string({
      unit: fc.constantFrom("a", "B", "7", "/", "+", "-", "_", "=", ".", '"', ",", ";", "&", " ", "\\", "é"),
    }),
  )
  .map(([start, rest]) => start + rest);
const cell = fc.oneof(secretLike, fc.string());
const rows = fc.array(fc.array(cell, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 10 });

describe("a cell that looks like a secret is printed as it was stored", () => {
  it("in CSV", async () => {
    held.push(new Secret("the live secret of this process"));
    await fc.assert(
      fc.asyncProperty(rows, async (stored) => {
        const { output, stdout } = open();
        for (const row of stored) await output.stream(csvLine(row));
        const options = { relax_column_count: true, record_delimiter: "\n" } as const;
        expect(parse(stdout.text, options)).toEqual(stored.map((row) => row.map(defused)));
      }),
    );
  });

  it("in NDJSON", async () => {
    held.push(new Secret("the live secret of this process"));
    await fc.assert(
      fc.asyncProperty(rows, async (stored) => {
        const { output, stdout } = open();
        for (const row of stored) await output.stream(`${JSON.stringify({ input: row })}\n`);
        const lines = stdout.text.split("\n").filter(Boolean);
        expect(lines.map((line) => (JSON.parse(line) as { input: string[] }).input)).toEqual(stored);
      }),
    );
  });

  it("in a JSON document", () => {
    held.push(new Secret("the live secret of this process"));
    fc.assert(
      fc.property(rows, (stored) => {
        const { output, stdout } = open(true);
        output.answer({ rows: stored }, () => "");
        expect(JSON.parse(stdout.text)).toEqual({ rows: stored });
      }),
    );
  });
});

describe("a live secret is not printed", () => {
  it.each(["answer", "json", "stream", "say", "live"] as const)("by %s", async (way) => {
    const secret = "0123456789 a live secret";
    held.push(new Secret(secret));
    const { output, stdout, stderr } = open(way === "json");
    const text = `x ${secret} y`;
    if (way === "stream") await output.stream(text);
    else if (way === "say" || way === "live") output[way](text);
    else output.answer({ [secret]: [text] }, () => text);
    expect(stdout.text + stderr.text).toContain("[secret]");
    expect(stdout.text + stderr.text).not.toContain(secret);
  });
});

it.each([[[]], [["--json"]]])("tokens create %j prints the token that it made", async (options) => {
  const [stdout, stderr] = [new Sink(), new Sink()];
  const { interrupt } = { interrupt: new AbortController().signal };
  const surroundings = { env: {}, stdout, stderr, stdin: process.stdin, interrupt, setExitCode: () => undefined };
  const command = tokensCommand(new Context(surroundings));
  await command.parseAsync(["create", "--name", "ci", "--role", "viewer", ...options], { from: "user" });
  expect(stdout.text).toMatch(/sf_[A-Za-z0-9_-]{43}/);
  expect(stdout.text).not.toContain("[secret]");
});
