/** Instants in text for people are local; JSON keeps UTC. */
import { afterEach, expect, test, vi } from "vitest";
import { withLocalTimes, problemText } from "#cli/format.ts";
import { openOutput, table } from "#cli/output.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

test.each([
  ["Asia/Tokyo", "2026-11-22T22:59:07.457Z", "2026-11-23 07:59:07+09:00"],
  ["UTC", "2026-11-22T22:59:07Z", "2026-11-22 22:59:07+00:00"],
  ["America/St_Johns", "2026-01-01T02:00:00Z", "2025-12-31 22:30:00-03:30"],
  ["Europe/Berlin", "2026-07-01T00:00:00.000Z", "2026-07-01 02:00:00+02:00"],
])("in %s, %s is shown as %s", (zone, instant, local) => {
  vi.stubEnv("TZ", zone);
  expect(withLocalTimes(`until ${instant}, then`)).toBe(`until ${local}, then`);
  expect(Date.parse(local)).toBe(Math.floor(Date.parse(instant) / 1_000) * 1_000);
});

test("answers, tables and messages have local times, and JSON has UTC", () => {
  vi.stubEnv("TZ", "Asia/Tokyo");
  const at = "2026-11-22T22:59:07.457Z";
  const written = { stdout: "", stderr: "" };
  const stdout = { write: (text: string) => (written.stdout += text) };
  const stderr = { write: (text: string) => (written.stderr += text) };
  const output = openOutput({ isJson: false, stdout, stderr });
  output.answer({ at }, (shown) => table(["AT", "N"], [[shown.at, 1]]));
  output.say(`Frozen until ${at}`);
  expect(written.stdout).toBe("AT                         N\n2026-11-23 07:59:07+09:00  1\n");
  expect(written.stderr).toBe("Frozen until 2026-11-23 07:59:07+09:00\n");
  written.stdout = "";
  openOutput({ isJson: true, stdout, stderr }).answer({ at }, () => "");
  expect(JSON.parse(written.stdout)).toEqual({ at });
});

test("a problem names the local time of day, and the date if it is older than a day", () => {
  vi.stubEnv("TZ", "Asia/Tokyo");
  const problem = { message: "The platform answered 500", since: "2026-11-22T22:59:07.457Z", attempts: 2 };
  const shown = (hours: number): string =>
    problemText({ ...problem, nextAttemptAt: null }, Date.parse(problem.since) + hours * 3_600_000);
  expect(shown(1)).toBe("The platform answered 500 (2 failed attempts since 07:59:07+09:00)");
  expect(shown(25)).toBe("The platform answered 500 (2 failed attempts since 2026-11-23 07:59:07+09:00)");
});
