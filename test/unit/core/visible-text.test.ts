import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { visible, visibleIn, visibleLines } from "#core/visible-text.ts";
import { anyText } from "../../support/any-text.ts";

describe("untrusted text", () => {
  const shownAs = [
    ["\u001b[2J", "\\x1b[2J"],
    ["a\nb\r\nc\td", "a\\nb\\r\\nc\\td"],
    ["\u0000\u0007\u0008", "\\x00\\x07\\x08"],
    ["\u007f", "\\x7f"],
    ["\u009b31m", "\\x9b31m"],
    ["\u0085", "\\x85"],
    ["file\u202efdp.exe", "file\\u202efdp.exe"],
    ["\u2066a\u2069", "\\u2066a\\u2069"],
    ["\u200f\u061c", "\\u200f\\u061c"],
    ["a\u2028b\u2029c", "a\\u2028b\\u2029c"],
    ["a\u200bb\ufeffc\u00add", "a\\u200bb\\ufeffc\\xadd"],
    ["\u{e0041}", "\\u{e0041}"],
    ["\ud800", "\\ud800"],
    ["車両 é 😀 \\n", "車両 é 😀 \\n"],
  ];

  it.each(shownAs)("the untrusted text %j is shown as %j", (text, shown) => {
    expect(visible(text)).toBe(shown);
  });

  it("untrusted text never controls a terminal or starts a line", () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        expect(visible(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
        expect(visibleLines(text)).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
        expect(visible(visible(text))).toBe(visible(text));
      }),
    );
  });

  it("untrusted text is escaped in every value and name of a document", () => {
    const document = { "a\n": ["\u001b", { b: "\u202e" }], count: 3, none: null };
    expect(visibleIn(document)).toEqual({ "a\\n": ["\\x1b", { b: "\\u202e" }], count: 3, none: null });
  });
});
