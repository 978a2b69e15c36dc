/**
 * A comment of a declaration starts with what it is about, so that an editor's hint makes sense by itself: "Path of the
 * file", not "Its path", and "Key that verifies tokens. Absent: …", not "Absent: …". No line of a comment is longer
 * than 120 columns, as code: the formatter leaves comments as they are. A directive of the linter has to stay on one
 * line.
 */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const withoutSubject =
  /^\s*\/\*\* (?:Absent|Also|As|It|Its|Of|Same|That|Their|Them|These|They|This|Those|What|Which|Whose)\b.*/gm;
const tooLong = /^(?=.{121})\s*(?:\/\/|\{?\/?\*|--)(?!.*\boxlint-).*/gm;

function commentsIn(files: string, pattern: RegExp): string[] {
  return globSync(files).flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(pattern)].map(([comment]) => `${file}: ${comment.trim()}`),
  );
}

test.each(["src", "web/src"])("the comments of declarations in %s begin with their subject", (folder) => {
  expect(commentsIn(`${folder}/**/*.{ts,tsx}`, withoutSubject)).toEqual([]);
});

test.each(["src", "web/src", "test", "bench", "scripts"])(
  "no line of a comment in %s is longer than 120 columns",
  (folder) => {
    expect(commentsIn(`${folder}/**/*.{ts,tsx,mjs,lua}`, tooLong)).toEqual([]);
  },
);
