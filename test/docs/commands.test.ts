/** The command lines in the README and the docs name commands and options that exist, and links lead somewhere. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Command } from "@commander-js/extra-typings";
import { describe, expect, test } from "vitest";
import { buildProgram } from "#cli/program.ts";
import { features } from "#features.ts";
import { processIo } from "../support/process-io.ts";

const pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md", ...globSync("docs/**/*.md")].filter(existsSync);
const program: Command = await buildProgram({ io: processIo().io, features });

/** The words after `simfleet` of each command in the blocks for a shell. */
function commandsOf(page: string): string[] {
  const blocks = [...page.matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm)].map(([, block = ""]) => block);
  return blocks.flatMap((block) => {
    const lines = block.replaceAll("\\\n", " ").matchAll(/(?:^ *|npx |&& |until )simfleet ([^|&;#>\n]*)/gm);
    return [...lines].map(([, words = ""]) => words.trim());
  });
}

/** What is wrong with a command line; undefined where nothing is. */
function faultOf(line: string): string | undefined {
  let command = program;
  for (const word of line.split(/\s+/)) {
    const sub = command.commands.find((one) => one.name() === word);
    if (sub !== undefined) command = sub as Command;
    else if (command.commands.length > 0 && !word.startsWith("-")) return `${line}: no command ${word}`;
    else if (/^--?[a-z]/.test(word)) {
      const flag = word.split("=")[0] ?? "";
      if (
        !command
          .createHelp()
          .visibleOptions(command)
          .some(({ short, long }) => [short, long].includes(flag))
      )
        return `${line}: no option ${flag}`;
    }
  }
  return undefined;
}

describe.each(pages)("%s", (name) => {
  const page = readFileSync(name, "utf8");

  test("names only commands and options that exist", () => {
    expect(
      commandsOf(page)
        .map(faultOf)
        .filter((fault) => fault !== undefined),
    ).toEqual([]);
  });

  test("links only files that exist, and headings that their pages have", () => {
    const prose = page.replaceAll(/^ *```[\s\S]*?^ *```$/gm, "").replaceAll(/`[^`\n]*`/g, "");
    const links = [...prose.matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map(([, link = ""]) => link);
    const broken = links.filter((link) => {
      const [file = "", anchor] = link.split("#");
      const target = file === "" ? name : join(dirname(name), file);
      if (!existsSync(target)) return true;
      return anchor !== undefined && !anchorsOf(readFileSync(target, "utf8")).includes(anchor);
    });
    expect(broken).toEqual([]);
  });
});

/** Anchors of the headings, as code hosts make them. */
function anchorsOf(page: string): string[] {
  const prose = page.replaceAll(/^ *```[\s\S]*?^ *```$/gm, "");
  return [...prose.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
