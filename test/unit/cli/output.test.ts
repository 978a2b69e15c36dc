import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { openOutput, type Output } from "#cli/output.ts";
import { runProgram } from "#cli/program.ts";
import { listText } from "#cli/list.ts";
import { runList } from "#jobs/runs/commands/run-text.ts";
import { SimfleetError } from "#core/errors.ts";
import { Secret } from "#core/secrets/secret.ts";
import { csvLine, defused } from "#intake/cell.ts";
import type { RunReport } from "#jobs/runs/contract.ts";
import { createLogger } from "#telemetry/logger.ts";
import { processIo } from "../../support/process-io.ts";

class Sink {
  text = "";
  write(text: string): void {
    this.text += text;
  }
}

function setup(isJson = false): { output: Output; stdout: Sink; stderr: Sink } {
  const stdout = new Sink();
  const stderr = new Sink();
  return { output: openOutput({ isJson, stdout, stderr }), stdout, stderr };
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

describe("cells that look like secrets", () => {
  it("a cell that looks like a secret is printed unchanged in CSV", async () => {
    held.push(new Secret("the live secret of this process"));
    await fc.assert(
      fc.asyncProperty(rows, async (stored) => {
        const { output, stdout } = setup();
        for (const row of stored) await output.stream(csvLine(row));
        const options = { relax_column_count: true, record_delimiter: "\n" } as const;
        expect(parse(stdout.text, options)).toEqual(stored.map((row) => row.map(defused)));
      }),
    );
  });

  it("a cell that looks like a secret is printed unchanged in a JSON document", () => {
    held.push(new Secret("the live secret of this process"));
    fc.assert(
      fc.property(rows, (stored) => {
        const { output, stdout } = setup(true);
        output.answer({ rows: stored }, () => "");
        expect(JSON.parse(stdout.text)).toEqual({ rows: stored });
      }),
    );
  });
});

describe("live secrets in output", () => {
  it.each(["answer", "json", "stream", "say", "live"] as const)("a live secret is not printed by %s", async (way) => {
    const secret = "0123456789 a live secret";
    held.push(new Secret(secret));
    const { output, stdout, stderr } = setup(way === "json");
    const text = `x ${secret} y`;
    if (way === "stream") await output.stream(text);
    else if (way === "say" || way === "live") output[way](text);
    else output.answer({ [secret]: [text] }, () => text);
    expect(stdout.text + stderr.text).toContain("[secret]");
    expect(stdout.text + stderr.text).not.toContain(secret);
  });
});

describe("untrusted text on a terminal", () => {
  const hostile = "a\u001b[2J\u001b]0;title\u0007\nsimfleet: all done\r\u009b31m\u007f\u202etxt.exe\u2028b";
  const shown = "a\\x1b[2J\\x1b]0;title\\x07\\nsimfleet: all done\\r\\x9b31m\\x7f\\u202etxt.exe\\u2028b";

  it("untrusted text cannot control the terminal in the text of a document", () => {
    const { output, stdout } = setup();
    const print = (runs: readonly RunReport[]): string => listText(runs, runList);
    output.answer({ runs: [{ runId: hostile, name: hostile, counts: {} } as RunReport] }, ({ runs }) => print(runs));
    expect(stdout.text).toContain(shown);
    expect(stdout.text).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(stdout.text).not.toMatch(/^simfleet: all done/m);
  });

  it("untrusted text cannot control the terminal in a message or the live line", () => {
    const { output, stderr } = setup();
    output.say(`The platform rejected the credentials: ${hostile}`);
    expect(stderr.text).toBe(`The platform rejected the credentials: ${shown}\n`);
    output.live(hostile);
    expect(stderr.text).toBe(`The platform rejected the credentials: ${shown}\n\r\u001b[2K${shown.slice(0, 79)}`);
  });

  it("untrusted text cannot control the terminal in an error that ends a command", async () => {
    const { io, ended } = processIo();
    await runProgram(["worker", "--config", `/nowhere/${hostile}`], { io, features: [] });
    await runProgram([hostile], { io, features: [] });
    expect(ended.stderr).toContain("\\x1b[2J");
    expect(ended.stderr).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  });

  it("untrusted text cannot control the terminal in a log line in either format", () => {
    for (const format of ["json", "lines"] as const) {
      const lines: string[] = [];
      const logger = createLogger({ format, destination: { write: (line) => lines.push(line) } });
      logger.info({ [hostile]: hostile }, hostile);
      logger.error(new SimfleetError("USAGE", hostile), "failed");
      expect(lines.join("")).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      expect(lines.join("")).not.toMatch(/^simfleet: all done/m);
      if (format === "json") expect(JSON.parse(lines[0] ?? "")).toMatchObject({ [hostile]: hostile, message: hostile });
    }
  });

  it("JSON and CSV output contain untrusted text unchanged", async () => {
    const json = setup(true);
    json.output.answer({ name: hostile }, () => "");
    expect(JSON.parse(json.stdout.text)).toEqual({ name: hostile });
    const csv = setup();
    await csv.output.stream(csvLine([hostile, "b"]));
    expect(csv.stdout.text).toBe(`"${hostile}",b\n`);
  });
});
