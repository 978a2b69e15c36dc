/**
 * A comment of a declaration starts with what it is about, so that an editor's hint makes sense by itself: "Path of the file",
 * not "Its path", and "Key that verifies tokens. Absent: …", not "Absent: …".
 */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const withoutSubject =
  /^\s*\/\*\* (?:Absent|Also|As|It|Its|Of|Same|That|Their|Them|These|They|This|Those|What|Which|Whose)\b.*/gm;

test.each(["src", "web/src"])("the comments of declarations in %s begin with their subject", (folder) => {
  const found = globSync(`${folder}/**/*.{ts,tsx}`).flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(withoutSubject)].map(([comment]) => `${file}: ${comment.trim()}`),
  );
  expect(found).toEqual([]);
});
