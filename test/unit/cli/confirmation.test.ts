/** What commands that start a run ask, and which answers start it. */
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { ProcessIo } from "#cli/context.ts";
import { SimfleetError } from "#core/errors.ts";
import { confirmation } from "#jobs/runs/commands/end-of-run.ts";

function ioWith(typed: string | undefined): ProcessIo {
  const stdin = new PassThrough();
  if (typed !== undefined) stdin.end(`${typed}\n`);
  return {
    env: {},
    stdout: { write: () => true },
    stderr: { write: () => true, isTTY: typed !== undefined },
    stdin: Object.assign(stdin, { isTTY: typed !== undefined }) as unknown as NodeJS.ReadStream,
    interrupt: new AbortController().signal,
    setExitCode: () => undefined,
  };
}

type Asked = Parameters<typeof confirmation>;
const harmless: Asked[0] = { operation: "set-group", irreversible: 0, question: "Send 3 rows again?" };
const deadly: Asked[0] = { ...harmless, operation: "terminate", irreversible: 1_200 };

test.each<[string, Asked[0], Asked[1] & { typed?: string }, result: unknown]>([
  ["a yes on a terminal", harmless, { typed: "y" }, {}],
  ["a no on a terminal", harmless, { typed: "n" }, undefined],
  ["--yes", harmless, { yes: true }, {}],
  ["nothing without a terminal", harmless, {}, "USAGE"],
  ["the number typed", deadly, { typed: "1,200" }, { confirm: 1_200 }],
  ["another number typed, which is refused later", deadly, { typed: "12" }, { confirm: 12 }],
  ["a yes instead of the number", deadly, { typed: "y" }, undefined],
  ["--yes instead of the number, on a terminal", deadly, { yes: true, typed: "1200" }, "NOT_CONFIRMED"],
  ["--yes instead of the number", deadly, { yes: true }, "NOT_CONFIRMED"],
  ["--confirm", deadly, { confirm: 1_200 }, { confirm: 1_200 }],
  ["--yes and --confirm", deadly, { yes: true, confirm: 1_200 }, { confirm: 1_200 }],
])("a run with %s", async (_, asked, { typed, ...options }, result) => {
  const answer = await confirmation(asked, options, ioWith(typed)).catch((thrown: unknown) => {
    if (thrown instanceof SimfleetError) return thrown.code;
    throw thrown;
  });
  expect(answer).toEqual(result);
});
