/** Files that other users may exchange at any moment: what is opened, what is written, and what is left alone. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { readSecretFile } from "#config/secrets/secret-file.ts";
import { openFile, readFileOnce } from "#core/files/open-file.ts";
import { checkFolder, createFile, ensurePrivateFolder, replaceFile, writeInto } from "#core/files/write-file.ts";
import { isRoot, unlessRoot } from "../../support/left-out.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

const at = (name: string): string => join(folder, name);

function write(name: string, content = "content", mode = 0o600): string {
  writeFileSync(at(name), content);
  chmodSync(at(name), mode);
  return at(name);
}

function pipe(name: string): string {
  const mkfifo = "mkfifo";
  execFileSync(mkfifo, [at(name)]);
  return at(name);
}

describe("opening files", () => {
  it("opening a file follows a link only where links are allowed", async () => {
    write("file");
    symlinkSync(at("file"), at("link"));
    expect(readFileOnce(at("link"), { links: "follow", maxBytes: 100 }).bytes.toString()).toBe("content");
    expect(() => readFileOnce(at("link"), { links: "refuse", maxBytes: 100 })).toThrow(/is a symbolic link/);
    await expect(openFile(at("link"), { links: "refuse" })).rejects.toThrow("is a symbolic link");
  });

  it("opening a file refuses a hard link where only one name is allowed", async () => {
    write("file");
    linkSync(at("file"), at("second"));
    await expect(openFile(at("second"), { links: "refuse", isOneName: true })).rejects.toThrow("a second name");
  });

  it("opening a pipe, a folder, or a device is refused without blocking", async () => {
    for (const path of [pipe("pipe"), "/dev/null"]) {
      await expect(openFile(path, { links: "follow" })).rejects.toThrow("a pipe, socket or device");
      expect(() => readFileOnce(path, { links: "follow", maxBytes: 100 })).toThrow(/is not a regular file/);
    }
    await expect(openFile(folder, { links: "follow" })).rejects.toThrow("is a folder");
  });

  it("opening a file refuses more bytes than allowed", () => {
    const path = write("file", "x".repeat(101));
    expect(() => readFileOnce(path, { links: "follow", maxBytes: 100 })).toThrow(/is too large/);
  });
});

// Shows S2, S3.
describe("secret files", () => {
  it("a secret file is read through a chain of links like a mounted secret", () => {
    mkdirSync(at("..2026_11_22"));
    writeFileSync(at("..2026_11_22/key"), "secret\n", { mode: 0o400 });
    symlinkSync("..2026_11_22", at("..data"));
    symlinkSync("..data/key", at("key"));
    expect(readSecretFile(at("key"))).toEqual({ secret: "secret" });
  });

  it("a secret file that is a pipe is refused at once", () => {
    expect(readSecretFile(pipe("pipe"))).toEqual({
      fault: `${at("pipe")} is not a regular file, but a pipe, socket or device.`,
    });
  });

  it.runIf(isRoot)(`a secret file of another user is refused, even behind a link${unlessRoot}`, () => {
    chownSync(write("file"), 12_345, 12_345);
    symlinkSync(at("file"), at("link"));
    for (const path of [at("file"), at("link")]) {
      expect(readSecretFile(path)).toEqual({
        fault: `${path} belongs to another user (ID 12345), who can change it. Run simfleet as that user (sudo -u '#12345' simfleet …), or name a copy of your own`,
      });
    }
  });
});

describe("writing files", () => {
  it("writing a file replaces a link of that name and leaves no temporary files", async () => {
    write("target", "untouched");
    symlinkSync(at("target"), at("out"));
    await replaceFile(at("out"), "new", { mode: 0o600 });
    expect([readFileSync(at("target"), "utf8"), readFileSync(at("out"), "utf8")]).toEqual(["untouched", "new"]);
    expect(lstatSync(at("out")).isFile()).toBe(true);
    expect(statSync(at("out")).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).toSorted()).toEqual(["out", "target"]);
  });

  it("a write that fails midway keeps the old file and leaves no temporary files", async () => {
    write("out", "old");
    const failing = async function* () {
      yield "new";
      await Promise.reject(new Error("no more"));
    };
    await expect(replaceFile(at("out"), failing(), { mode: 0o644 })).rejects.toThrow("no more");
    expect([readFileSync(at("out"), "utf8"), readdirSync(folder)]).toEqual(["old", ["out"]]);
  });

  it("writing a file removes what killed processes have left for an hour, and nothing else", async () => {
    const nameOf = (digit: string): string => `.simfleet.${digit.repeat(24)}.tmp`;
    const [old, young, linked] = [nameOf("a"), nameOf("b"), nameOf("c")];
    const others = [".simfleet.notes.tmp", ".other.aaaaaaaaaaaaaaaaaaaaaaaa.tmp"];
    const agoSeconds = (seconds: number): number => Date.now() / 1_000 - seconds;
    for (const name of [old, young, "target", ...others]) write(name, "kept");
    for (const name of [old, "target", ...others]) utimesSync(at(name), agoSeconds(3_700), agoSeconds(3_700));
    utimesSync(at(young), agoSeconds(3_500), agoSeconds(3_500));
    symlinkSync(at("target"), at(linked));
    lutimesSync(at(linked), agoSeconds(3_700), agoSeconds(3_700));
    await replaceFile(at("out"), "new", { mode: 0o600 });
    expect(readdirSync(folder).toSorted()).toEqual([young, linked, "target", "out", ...others].toSorted());
    expect(readFileSync(at("target"), "utf8")).toBe("kept");
  });

  it("creating a new file follows no link, not even a dangling one", async () => {
    symlinkSync(at("nowhere"), at("out"));
    await expect(createFile(at("out"), "new", { mode: 0o600 })).rejects.toMatchObject({ code: "EEXIST" });
    expect(existsSync(at("nowhere"))).toBe(false);
  });

  it("writing into a pipe or device refuses a regular file and leaves it unchanged", async () => {
    const path = write("file", "untouched");
    await expect(writeInto(path, "new")).rejects.toThrow("a regular file");
    expect(readFileSync(path, "utf8")).toBe("untouched");
    await writeInto("/dev/null", "new");
  });
});

describe("private folders", () => {
  it("a private folder is created for its user only", async () => {
    await ensurePrivateFolder(at("own"));
    expect(statSync(at("own")).mode & 0o777).toBe(0o700);
    await ensurePrivateFolder(at("own"));
  });

  it("a private folder is refused if it is a link or a file, and closed if it is open to others", async () => {
    mkdirSync(at("real"), { mode: 0o700 });
    symlinkSync(at("real"), at("link"));
    await expect(ensurePrivateFolder(at("link"))).rejects.toThrow("a symbolic link");
    await expect(ensurePrivateFolder(write("file"))).rejects.toThrow("not a folder");
    chmodSync(at("real"), 0o755);
    await ensurePrivateFolder(at("real"));
    expect(statSync(at("real")).mode & 0o777).toBe(0o700);
  });

  it.runIf(isRoot)(`a private folder is refused if it belongs to another user${unlessRoot}`, async () => {
    mkdirSync(at("theirs"), { mode: 0o700 });
    chownSync(at("theirs"), 12_345, 12_345);
    await expect(ensurePrivateFolder(at("theirs"))).rejects.toThrow("another user");
    await expect(checkFolder(at("theirs"))).rejects.toThrow("another user");
  });
});
