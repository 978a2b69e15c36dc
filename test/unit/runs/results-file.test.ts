import { existsSync, readFileSync, readdirSync, symlinkSync, writeFileSync, lchownSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { beforeEach, describe, expect, it } from "vitest";
import { writeResults } from "#core/files/output-file.ts";
import { isRoot, unlessRoot } from "../../support/left-out.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

const at = (name: string): string => join(folder, name);
const lines = (): AsyncIterable<string> => Readable.from(["simId\n", "one\n"]);

describe("results files in a folder that others can write to", () => {
  it("a results file replaces the target of the user's own link and keeps the link", async () => {
    writeFileSync(at("real.csv"), "old");
    symlinkSync(at("real.csv"), at("link.csv"));
    await writeResults(at("link.csv"), lines(), "");
    expect(readFileSync(at("real.csv"), "utf8")).toBe("simId\none\n");
    expect(readdirSync(folder)).toHaveLength(2);
  });

  it.runIf(isRoot)(`a results file is not written through a link of another user${unlessRoot}`, async () => {
    writeFileSync(at("victim"), "untouched");
    symlinkSync(at("victim"), at("out.csv"));
    lchownSync(at("out.csv"), 12_345, 12_345);
    await expect(writeResults(at("out.csv"), lines(), "Choose another place")).rejects.toMatchObject({
      code: "RESULTS_NOT_WRITABLE",
      message: `${at("out.csv")} could not be written: it is a symbolic link of another user (ID 12345). Choose another place`,
    });
    expect(readFileSync(at("victim"), "utf8")).toBe("untouched");
  });

  it("a failed results file leaves nothing behind", async () => {
    await expect(writeResults(at("no/such/out.csv"), lines(), "")).rejects.toMatchObject({
      code: "RESULTS_NOT_WRITABLE",
    });
    expect(existsSync(at("no"))).toBe(false);
  });
});
