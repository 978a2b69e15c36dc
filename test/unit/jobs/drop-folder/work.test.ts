/** Which files are taken, when, and where they end. */
import {
  appendFileSync,
  chownSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FolderHarness, settleMs } from "./folder-harness.ts";
import { isRoot, unlessRoot } from "../../../support/left-out.ts";

const mkfifo = "mkfifo";

const namesOf = (harness: FolderHarness): string[] => harness.runs.submitted.map(({ name }) => name);

/** Looks at the folder, and again after the settle time. */
async function settle(harness: FolderHarness): Promise<void> {
  await harness.fingerprint();
  await harness.fingerprint(settleMs);
}

/** A worker takes a file, and something is done between its look and its move: as it asks for the ID of a run. */
async function takeDuring(harness: FolderHarness, name: string, act: () => void): Promise<void> {
  const { runs } = harness;
  const newRunId = runs.newRunId.bind(runs);
  runs.newRunId = () => {
    runs.newRunId = newRunId;
    act();
    return newRunId();
  };
  await harness.drop(name);
}

/** Another file of the folder, which may not be read in place of the file. */
function secretNextTo(path: string): string {
  const secret = join(path, "../secret.txt");
  writeFileSync(secret, "marker-0815\n");
  return secret;
}

/** The file is in failed/ with the reason, and no run of it was submitted. */
function expectRefused(harness: FolderHarness, name: string): void {
  expect(harness.files("failed")).toEqual([`${name}.csv`, `${name}.problem.txt`].toSorted());
  expect(namesOf(harness)).toEqual([]);
}

describe("files in a drop folder", () => {
  it("a file is picked up once it has been unchanged for the settle time", async () => {
    const harness = new FolderHarness();
    harness.write("fleet.csv", "simId\n");
    await harness.fingerprint();
    await harness.fingerprint(settleMs - 1);
    expect([harness.files(), namesOf(harness)]).toEqual([["fleet.csv"], []]);
    await harness.fingerprint(1);
    expect([harness.files(), harness.files("processing")]).toEqual([[], ["fleet.RUN.csv"]]);
    expect(harness.runs.submitted).toMatchObject([{ name: "fleet.csv", content: "simId\n" }]);
    expect(harness.runs.reported).toEqual(["file.taken fleet.csv"]);
  });

  it("a file that is written to restarts its settle time, even with the same length or modification time", async () => {
    const harness = new FolderHarness();
    harness.write("fleet.csv", "aaaa");
    utimesSync(join(harness.path, "fleet.csv"), 1_000, 1_000);
    await harness.fingerprint();
    appendFileSync(join(harness.path, "fleet.csv"), "bbbb");
    utimesSync(join(harness.path, "fleet.csv"), 1_000, 1_000);
    await harness.fingerprint(settleMs);
    writeFileSync(join(harness.path, "fleet.csv"), "ccccdddd");
    await harness.fingerprint(settleMs);
    await harness.fingerprint(settleMs - 1);
    expect(namesOf(harness)).toEqual([]);
    await harness.fingerprint(1);
    expect(harness.runs.submitted).toMatchObject([{ content: "ccccdddd" }]);
  });

  it("a file replaced just before its pickup waits in processing/ until it has settled", async () => {
    const harness = new FolderHarness();
    await takeDuring(harness, "fleet.csv", () => {
      writeFileSync(join(harness.path, "other"), "half");
      renameSync(join(harness.path, "other"), join(harness.path, "fleet.csv"));
    });
    expect([harness.files("processing"), namesOf(harness)]).toEqual([["fleet.RUN.csv"], []]);
    await harness.fingerprint(settleMs);
    expect(harness.runs.submitted).toMatchObject([{ content: "half" }]);
  });

  it("a link, a folder, or a pipe in the drop folder is ignored", async () => {
    const harness = new FolderHarness();
    harness.write("target.txt");
    symlinkSync(join(harness.path, "target.txt"), join(harness.path, "link.csv"));
    mkdirSync(join(harness.path, "folder.csv"));
    execFileSync(mkfifo, [join(harness.path, "pipe.csv")]);
    await settle(harness);
    expect([namesOf(harness), harness.incidents]).toEqual([[], []]);
    expect(harness.files()).toEqual(["link.csv", "pipe.csv", "target.txt"]);
  });

  it("the oldest file in a drop folder is picked up first", async () => {
    const harness = new FolderHarness();
    for (const [i, name] of ["c.csv", "B.CSV", "a.csv"].entries()) {
      harness.write(name);
      utimesSync(join(harness.path, name), 1_000 + i, 1_000 + i);
    }
    await settle(harness);
    expect(namesOf(harness)).toEqual(["c.csv", "B.csv", "a.csv"]);
  });
});

describe("the end of a file's processing", () => {
  it("a processed file is in done/ with its results and the run's id in both names", async () => {
    const harness = new FolderHarness();
    await harness.drop("fleet.csv");
    await harness.fingerprint(60_000);
    expect(harness.files("processing")).toEqual(["fleet.RUN.csv"]);
    harness.runs.end();
    await harness.fingerprint();
    expect(harness.files("done")).toEqual(["fleet.RUN.csv", "fleet.RUN.results.csv"]);
    const runId = harness.runs.lastRunId;
    expect(harness.read(`done/fleet.${runId}.results.csv`)).toBe(`results of ${runId}\n`);
    expect(harness.files("processing")).toEqual([]);
    expect(harness.runs.reported).toEqual(["file.taken fleet.csv", "file.done fleet.csv"]);
  });

  it("a file is in failed/ when rows failed or its run was aborted or cancelled", async () => {
    const harness = new FolderHarness();
    await harness.drop("fleet.csv");
    harness.runs.end({ isGood: false, state: "aborted", reason: "3 rows failed" });
    await harness.fingerprint();
    expect([harness.files("failed"), harness.files("done")]).toEqual([["fleet.RUN.csv", "fleet.RUN.results.csv"], []]);
    expect(harness.runs.reported.at(-1)).toBe("file.failed fleet.csv 3 rows failed");
  });

  it("a file is in failed/ when it was written to after its pickup", async () => {
    const harness = new FolderHarness();
    await harness.drop("fleet.csv", "first half\n");
    const runId = harness.runs.lastRunId;
    appendFileSync(join(harness.path, "processing", `fleet.${runId}.csv`), "second half\n");
    harness.runs.end();
    await harness.fingerprint();
    expect(harness.files("failed")).toEqual(["fleet.RUN.csv", "fleet.RUN.problem.txt", "fleet.RUN.results.csv"]);
    expect(harness.read(`failed/fleet.${runId}.problem.txt`)).toContain("changed after it was picked up");
    expect(harness.runs.reported.at(-1)).toContain("file.failed fleet.csv The file was changed");
  });

  it("a file is not refused while it is still being written", async () => {
    const harness = new FolderHarness();
    harness.runs.refusal = { reason: "half a row", faults: [] };
    harness.runs.meanwhile = (path) => appendFileSync(path, "the other half\n");
    await harness.drop("fleet.csv");
    expect([harness.files("processing"), harness.files("failed")]).toEqual([["fleet.RUN.csv"], []]);
    harness.runs.refusal = undefined;
    harness.runs.meanwhile = () => undefined;
    await harness.fingerprint();
    expect(namesOf(harness)).toEqual([]);
    await harness.fingerprint(settleMs);
    expect(harness.runs.submitted).toMatchObject([{ content: "simId,speedClass\nthe other half\n" }]);
  });

  it("repeated files with the same name do not overwrite each other", async () => {
    const harness = new FolderHarness();
    for (const content of ["one\n", "two\n", "three\n"]) await harness.drop("fleet.csv", content);
    harness.runs.end();
    await harness.fingerprint();
    expect(harness.files("done")).toHaveLength(6);
    const kept = harness.runs.submitted.map(({ runId }) => harness.read(`done/fleet.${runId}.csv`));
    expect(kept).toEqual(["one\n", "two\n", "three\n"]);
  });
});

describe("multiple drop folder workers", () => {
  /** Twenty files that two workers have taken. */
  async function setup(): Promise<FolderHarness> {
    const harness = new FolderHarness();
    const other = harness.worker();
    for (let i = 0; i < 20; i += 1) harness.write(`f${i}.csv`);
    await Promise.all([harness.fingerprint(), harness.fingerprint(0, other)]);
    harness.clock.pass(settleMs);
    await Promise.all([harness.fingerprint(), harness.fingerprint(0, other)]);
    return harness;
  }

  it("multiple workers take each file once", async () => {
    const harness = await setup();
    expect(namesOf(harness).toSorted()).toEqual(Array.from({ length: 20 }, (_, i) => `f${i}.csv`).toSorted());
  });

  it("a worker continues what others have begun that are gone", async () => {
    const harness = await setup();
    harness.runs.end();
    // Both are gone; a third finds everything in processing/.
    const third = harness.worker();
    await harness.fingerprint(0, third);
    expect(harness.files("done")).toEqual([]);
    await harness.fingerprint(settleMs, third);
    expect([harness.files("done").length, harness.files("processing")]).toEqual([40, []]);
    expect(harness.runs.reported).toHaveLength(40);
  });
});

describe("drop folder problems", () => {
  const fullDisk = /^processing\/first\.r-\S+\.csv: ENOSPC: .* \(it is tried again\)$/;

  /** A file whose results cannot be written, after four tries of a worker. */
  async function setupFullDisk() {
    const harness = new FolderHarness();
    await harness.drop("first.csv");
    const results = harness.runs.results.bind(harness.runs);
    harness.runs.results = async function* () {
      await Promise.reject(Object.assign(new Error("ENOSPC: no room"), { code: "ENOSPC" }));
      yield "";
    };
    harness.runs.end();
    for (let i = 0; i < 4; i += 1) await harness.fingerprint(120_000);
    const makeRoom = (): void => void (harness.runs.results = results);
    return { harness, makeRoom, incident: expect.stringMatching(fullDisk) as unknown };
  }

  it("a problem with one file is reported once, and the file is retried", async () => {
    const { harness, makeRoom, incident } = await setupFullDisk();
    expect(harness.incidents).toEqual([incident]);
    makeRoom();
    await harness.fingerprint(120_000);
    expect(harness.files("done")).toEqual(["first.RUN.csv", "first.RUN.results.csv"]);
    expect(harness.files("processing")).toEqual([]);
  });

  it("a problem with one file does not block other files", async () => {
    const { harness, incident } = await setupFullDisk();
    harness.runs.refusal = { reason: "bad", faults: [] };
    await harness.drop("second.csv");
    expect(harness.files("failed")).toEqual(["second.RUN.csv", "second.RUN.problem.txt"]);
    expect(harness.incidents).toEqual([incident]);
  });

  it("a failing file is retried with growing delays, which reset after a success", async () => {
    const harness = new FolderHarness();
    let tries = 0;
    harness.runs.fault = new Error("EIO: the disk");
    const submit = harness.runs.submit.bind(harness.runs);
    harness.runs.submit = (...args) => ((tries += 1), submit(...args));
    await harness.drop("fleet.csv");
    for (let second = 0; second < 120; second += 2) await harness.fingerprint(2_000);
    expect(tries).toBeGreaterThanOrEqual(5);
    expect(tries).toBeLessThanOrEqual(12);
    expect(harness.incidents).toHaveLength(1);
    harness.runs.fault = undefined;
    await harness.fingerprint(60_000);
    expect(namesOf(harness)).toEqual(["fleet.csv"]);
  });

  it("a missing drop folder is reported once and is not created", async () => {
    const harness = new FolderHarness();
    rmSync(harness.path, { recursive: true });
    for (let i = 0; i < 3; i += 1) await harness.fingerprint(120_000);
    expect(harness.incidents).toEqual([expect.stringMatching(/^\(folder\): ENOENT: /)]);
    mkdirSync(harness.path);
    harness.clock.pass(120_000);
    await harness.drop("fleet.csv");
    expect(namesOf(harness)).toEqual(["fleet.csv"]);
  });
});

describe("unprintable file names", () => {
  it.each([
    ["a line break", Buffer.from("fleet\nof today.csv"), "fleet_of today.RUN"],
    ["an escape sequence", Buffer.from("\x1b[31mfleet.csv"), "_[31mfleet.RUN"],
    ["a line break at its end", Buffer.from("fleet.csv\n"), "fleet.csv_.RUN"],
    ["a change of direction", Buffer.from("fleet\u202Evsc.csv"), "fleet_vsc.RUN"],
    ["bytes that are not UTF-8", Buffer.from([0x66, 0xe4, 0x2e, 0x63, 0x73, 0x76]), "f_.RUN"],
  ])("a file name with %s is rejected and shown under a printable name", async (_, rawName, shown) => {
    const harness = new FolderHarness();
    writeFileSync(Buffer.concat([Buffer.from(`${harness.path}/`), rawName]), "simId\n");
    await settle(harness);
    await harness.fingerprint(settleMs);
    expect(harness.files()).toEqual([]);
    expectRefused(harness, shown);
    expect(harness.runs.reported).toEqual([
      expect.stringMatching(/^file\.rejected [^\n]+ Its name (has control|is not valid)/),
    ]);
    expect(harness.incidents).toEqual([expect.stringMatching(/ was rejected and is in failed\/ as /)]);
  });
});

describe("a drop folder that others can write to", () => {
  it.each([
    ["link", "a symbolic link", (path: string) => symlinkSync(secretNextTo(path), path)],
    ["pipe", "not a regular file", (path: string) => execFileSync(mkfifo, [path])],
  ])("replacing a picked-up file with a %s makes the worker read nothing from it", async (name, kind, exchange) => {
    const harness = new FolderHarness();
    const path = join(harness.path, `${name}.csv`);
    await takeDuring(harness, `${name}.csv`, () => {
      rmSync(path);
      exchange(path);
    });
    for (let i = 0; i < 2; i += 1) await harness.fingerprint(settleMs);
    expect(harness.files("processing")).toEqual([]);
    expectRefused(harness, `${name}.RUN`);
    expect(harness.runs.reported).toEqual([
      `file.taken ${name}.csv`,
      expect.stringMatching(new RegExp(`^file\\.rejected ${name}\\.csv .*/processing/${name}\\.r-\\S+ is ${kind}`)),
    ]);
  });

  it("a link in place of one of its folders stops the drop folder, and nothing is moved through it", async () => {
    for (const place of ["processing", "done", "failed"]) {
      const harness = new FolderHarness();
      mkdirSync(join(harness.path, "elsewhere"));
      symlinkSync(join(harness.path, "elsewhere"), join(harness.path, place));
      await harness.drop("fleet.csv");
      expect(harness.files()).toContain("fleet.csv");
      expect(harness.files("elsewhere")).toEqual([]);
      expect(harness.incidents).toEqual([
        `(folder): (folder)/${place} is a symbolic link; it must be a folder. (it is tried again)`,
      ]);
    }
  });

  it.runIf(isRoot)(`a folder that belongs to another user stops the drop folder${unlessRoot}`, async () => {
    const harness = new FolderHarness();
    mkdirSync(join(harness.path, "processing"));
    chownSync(join(harness.path, "processing"), 12_345, 12_345);
    await harness.drop("fleet.csv");
    expect([harness.files(), harness.files("processing")]).toEqual([["fleet.csv"], []]);
    expect(harness.incidents).toEqual([
      "(folder): The folder (folder)/processing belongs to another user (ID 12345). (it is tried again)",
    ]);
  });
});
