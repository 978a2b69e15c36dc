import { expect, test } from "vitest";
import { followWork } from "#cli/follow/follow-work.ts";
import { openOutput } from "#cli/output.ts";

const sink = { write: () => undefined };

/** Follows a run whose first report Redis rejects with an error. */
function followAfter(refusal: string): Promise<{ exitCode: number }> {
  const reports = [(): never => raise(refusal), () => "ended"];
  return followWork<string>({
    output: openOutput({ isJson: false, stdout: sink, stderr: sink }),
    interrupt: new AbortController().signal,
    what: "run",
    app: {} as never,
    resumeCommand: "simfleet runs resume",
    report: () => Promise.resolve().then(reports.shift() ?? (() => "ended")),
    show: () => undefined,
    endOf: () => ({ exitCode: 0 }),
    leaving: () => ({ exitCode: 130 }),
  });
}

function raise(message: string): never {
  throw new Error(message);
}

test.each(["NOREPLICAS Not enough good replicas to write.", "MASTERDOWN Link with MASTER is down"])(
  "a command that follows a run waits while a failover is in progress: %s",
  async (refusal) => {
    expect(await followAfter(refusal)).toMatchObject({ exitCode: 0 });
  },
);

test("a command that follows a run ends when Redis refuses a command for another reason", async () => {
  await expect(followAfter("NOPERM this user has no permissions")).rejects.toThrow("NOPERM");
});
