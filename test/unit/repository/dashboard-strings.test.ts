/** The texts of the dashboard are in web/src/strings, so that they can be read in one place. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ESTree } from "vite";
import { describe, expect, it } from "vitest";
import { type TextRules, ownTexts } from "./own-texts.ts";
import { projectDir } from "./run-script.ts";

/** Attributes that users neither see nor hear. All others may hold only texts of web/src/strings. */
const technicalAttributes = new Set(
  `accept aria-activedescendant aria-controls aria-current aria-describedby aria-expanded aria-hidden aria-labelledby
  aria-live aria-sort autocomplete class color d dateTime fill focusable for height href icon id key kind list name
  needed of ref role scope size state stroke stroke-dasharray stroke-linecap stroke-linejoin stroke-width style
  text-anchor type value viewBox width`.split(/\s+/),
);
/** Properties whose values are shown, such as the label of a column. */
const shownProperties = new Set(["label", "title", "text", "hint", "yes", "word", "fault"]);
/** Two words or a capitalized one: a text wherever it stands. */
const prose = /[A-Za-z]{2,}[,.:;…]? [a-z]|^[A-Z][a-z]+([ .]|$)/;
const technicalTexts = new Set([
  "Bearer", // a header
  "Sim", // an API group
  "not exists", // an operator of filters
  "not recorded", // a result in the audit log
  "input, select, textarea",
  "(prefers-color-scheme: dark)",
]);

const rules: TextRules = {
  prose,
  technical: technicalTexts,
  /** Attributes such as the class. */
  isCode: (node) => node.type === "JSXAttribute" && ["class", "d", "style"].includes(nameOf(node)),
  shownParts(node) {
    if (node.type === "JSXElement" || node.type === "JSXFragment") return node.children;
    if (node.type === "JSXAttribute") return technicalAttributes.has(nameOf(node)) ? [] : [node.value];
    const isShown = node.type === "Property" && node.key.type === "Identifier" && shownProperties.has(node.key.name);
    return isShown ? [node.value] : [];
  },
};

function nameOf({ name }: ESTree.JSXAttribute): string {
  return name.type === "JSXIdentifier" ? name.name : name.name.name;
}

const folder = join(projectDir, "web/src");
const read = (path: string): string => readFileSync(join(folder, path), "utf8");
const { strings = [], others = [] } = Object.groupBy(globSync("**/*.{ts,tsx}", { cwd: folder }), (path) =>
  path.startsWith("strings/") ? "strings" : "others",
);

describe("the texts of the dashboard", () => {
  it("a text in JSX, in an attribute that users see, or in a message is found", () => {
    const source = `import { text } from "./some words here.ts";
      export const columns = [{ label: "line", kind: "tight" }, { label: text.line }];
      export const Part = () => (
        <p class="quiet small" title={text.title} aria-label={isOn ? "on" : text.off}>
          Reading {count} …
          <Field label="name" type="text" hint={\`\${count} of \${all}\`} />
          {isOn && " · "}
          {isOn ? "started" : text.done} {kind === "file" && read("runs")}
        </p>
      );
      export const failed = () => say("Sync started.");`;
    expect(ownTexts("part.tsx", source, rules)).toEqual([
      "part.tsx:2 line",
      "part.tsx:4 on",
      "part.tsx:5 Reading",
      "part.tsx:6 name",
      "part.tsx:6 of",
      "part.tsx:8 started",
      "part.tsx:11 Sync started.",
    ]);
  });

  it("every text of the dashboard is in web/src/strings", () => {
    expect(others.length).toBeGreaterThan(50);
    expect(others.flatMap((path) => ownTexts(path, read(path), rules))).toEqual([]);
  });

  it("every text in web/src/strings is used", () => {
    const used = new Set(others.flatMap((path) => read(path).match(/(?<=\.)\w+/g) ?? []));
    const names = strings.flatMap((path) => {
      const tables = [...read(path).matchAll(/^export const \w+Text = \{\n(.*?)^\} as const;/gms)];
      return tables.flatMap(([, table = ""]) => [...table.matchAll(/^ {2}(\w+):/gm)].map(([, name = ""]) => name));
    });
    expect(names.length).toBeGreaterThan(300);
    expect(names.filter((name) => !used.has(name))).toEqual([]);
  });
});
