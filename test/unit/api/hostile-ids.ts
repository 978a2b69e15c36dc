/** Ids that try to change where a call goes, for every test of a path. */
import fc from "fast-check";
import { anyText } from "../../support/any-text.ts";

export const hostileIds = [
  "..",
  ".",
  "%2e%2e",
  "..%2f",
  "a/../b",
  "a/b",
  "a\\b",
  "?x=1",
  "#",
  "",
  " ",
  "894231\n",
  "8942%31",
  "／",
  "..;",
  "//evil.example",
];

const piece = fc.constantFrom(
  "..",
  ".",
  "/",
  "%2f",
  "%2e",
  "?",
  "#",
  "\\",
  "a",
  "7",
  "-",
  "@",
  ":",
  "{",
  "\u0000",
  "é",
);

export const anyId = fc.oneof(
  anyText(),
  fc.array(piece).map((pieces) => pieces.join("")),
  fc.stringMatching(/^[\w.-]{1,20}$/),
  fc.constantFrom(...hostileIds),
);
