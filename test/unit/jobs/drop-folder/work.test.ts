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
import { FolderHouse, settleMs } from "./folder-house.ts";

const namesOf = (house: FolderHouse): string[] => house.runs.submitted.map(({ name }) => name);

describe("a file", () => {
  it("is taken when it has looked the same for long enough, not before", async () => {
    const house = new FolderHouse();
    house.write("fleet.csv", "simId\n");
    await house.look();
    await house.look(settleMs - 1);
    expect([house.files(), namesOf(house)]).toEqual([["fleet.csv"], []]);
    await house.look(1);
    expect([house.files(), house.files("processing")]).toEqual([[], ["fleet.RUN.csv"]]);
    expect(house.runs.submitted).toMatchObject([{ name: "fleet.csv", content: "simId\n" }]);
    expect(house.runs.told).toEqual(["file.taken fleet.csv"]);
  });

  it("that is written to waits anew, also when its length or its time stays as it was", async () => {
    const house = new FolderHouse();
    house.write("fleet.csv", "aaaa");
    utimesSync(join(house.path, "fleet.csv"), 1_000, 1_000);
    await house.look();
    appendFileSync(join(house.path, "fleet.csv"), "bbbb");
    utimesSync(join(house.path, "fleet.csv"), 1_000, 1_000);
    await house.look(settleMs);
    writeFileSync(join(house.path, "fleet.csv"), "ccccdddd");
    await house.look(settleMs);
    await house.look(settleMs - 1);
    expect(namesOf(house)).toEqual([]);
    await house.look(1);
    expect(house.runs.submitted).toMatchObject([{ content: "ccccdddd" }]);
  });

  it("whose time lies in the past or the future is taken no sooner and no later", async () => {
    const house = new FolderHouse();
    for (const [name, seconds] of [
      ["past.csv", 1_000],
      ["future.csv", 9_000_000_000],
    ] as const) {
      house.write(name);
      utimesSync(join(house.path, name), seconds, seconds);
    }
    await house.look(1e9);
    expect(namesOf(house)).toEqual([]);
    await house.look(settleMs);
    expect(namesOf(house)).toEqual(["past.csv", "future.csv"]);
  });

  it("that another has replaced just before it is taken waits in processing/ until it has stood still", async () => {
    const house = new FolderHouse();
    house.write("fleet.csv", "whole");
    await house.look();
    house.clock.pass(settleMs);
    // What comes between the look and the move: here it is the run's id that is asked for in between.
    const newRunId = house.runs.newRunId.bind(house.runs);
    house.runs.newRunId = () => {
      writeFileSync(join(house.path, "other"), "half");
      renameSync(join(house.path, "other"), join(house.path, "fleet.csv"));
      return newRunId();
    };
    await house.look();
    expect([house.files("processing"), namesOf(house)]).toEqual([["fleet.RUN.csv"], []]);
    await house.look(settleMs);
    expect(house.runs.submitted).toMatchObject([{ content: "half" }]);
  });

  it.each([".fleet.csv", ".fleet.csv.Xy12", "fleet.csv.part", "fleet.csv.tmp", "fleet.csv~", "fleet.txt", "fleet"])(
    "called %s is left alone",
    async (name) => {
      const house = new FolderHouse();
      await house.drop(name);
      await house.look(settleMs);
      expect([house.files(), namesOf(house)]).toEqual([[name], []]);
    },
  );

  it("that is a link, a folder or a pipe is left alone", async () => {
    const house = new FolderHouse();
    house.write("target.txt");
    symlinkSync(join(house.path, "target.txt"), join(house.path, "link.csv"));
    mkdirSync(join(house.path, "folder.csv"));
    const mkfifo = "mkfifo";
    execFileSync(mkfifo, [join(house.path, "pipe.csv")]);
    await house.look();
    await house.look(settleMs);
    expect([namesOf(house), house.troubles]).toEqual([[], []]);
    expect(house.files()).toEqual(["link.csv", "pipe.csv", "target.txt"]);
  });

  it("is one of many: the oldest goes first", async () => {
    const house = new FolderHouse();
    for (const [i, name] of ["c.csv", "B.CSV", "a.csv"].entries()) {
      house.write(name);
      utimesSync(join(house.path, name), 1_000 + i, 1_000 + i);
    }
    await house.look();
    await house.look(settleMs);
    expect(namesOf(house)).toEqual(["c.csv", "B.csv", "a.csv"]);
  });
});

describe("the end of a file", () => {
  it("is in done/, with its results, and the run's id in both names", async () => {
    const house = new FolderHouse();
    await house.drop("fleet.csv");
    await house.look(60_000);
    expect(house.files("processing")).toEqual(["fleet.RUN.csv"]);
    house.runs.end();
    await house.look();
    expect(house.files("done")).toEqual(["fleet.RUN.csv", "fleet.RUN.results.csv"]);
    const runId = house.runs.lastRunId;
    expect(house.read(`done/fleet.${runId}.results.csv`)).toBe(`results of ${runId}\n`);
    expect(house.files("processing")).toEqual([]);
    expect(house.runs.told).toEqual(["file.taken fleet.csv", "file.done fleet.csv"]);
  });

  it("is in failed/ when rows failed, or the run was aborted or cancelled", async () => {
    const house = new FolderHouse();
    await house.drop("fleet.csv");
    house.runs.end({ isGood: false, state: "aborted", reason: "3 rows failed" });
    await house.look();
    expect([house.files("failed"), house.files("done")]).toEqual([["fleet.RUN.csv", "fleet.RUN.results.csv"], []]);
    expect(house.runs.told.at(-1)).toBe("file.failed fleet.csv 3 rows failed");
  });

  it("is in failed/ when it was written to after it had been taken", async () => {
    const house = new FolderHouse();
    await house.drop("fleet.csv", "first half\n");
    const runId = house.runs.lastRunId;
    appendFileSync(join(house.path, "processing", `fleet.${runId}.csv`), "second half\n");
    house.runs.end();
    await house.look();
    expect(house.files("failed")).toEqual(["fleet.RUN.csv", "fleet.RUN.problem.txt", "fleet.RUN.results.csv"]);
    expect(house.read(`failed/fleet.${runId}.problem.txt`)).toContain("written to after it had been taken");
    expect(house.runs.told.at(-1)).toContain("file.failed fleet.csv The file was written to");
  });

  it("is in failed/ with the reasons when it is refused", async () => {
    const house = new FolderHouse();
    house.runs.refusal = { reason: "2 of 9 rows cannot be sent.", faults: ["line 3: no class", "line 5: no key"] };
    await house.drop("fleet.csv");
    const [csv, problem] = house.files("failed");
    expect([csv, problem, house.files("processing")]).toEqual(["fleet.RUN.csv", "fleet.RUN.problem.txt", []]);
    const problemName = "failed/fleet.r-20261120-103045-aaaaaaa1.problem.txt";
    expect(house.read(problemName)).toBe("2 of 9 rows cannot be sent.\nline 3: no class\nline 5: no key\n");
    expect(house.runs.told).toEqual(["file.taken fleet.csv", "file.refused fleet.csv 2 of 9 rows cannot be sent."]);
  });

  it("is not a refusal while somebody still writes to it", async () => {
    const house = new FolderHouse();
    house.runs.refusal = { reason: "half a row", faults: [] };
    house.runs.meanwhile = (path) => appendFileSync(path, "the other half\n");
    await house.drop("fleet.csv");
    expect([house.files("processing"), house.files("failed")]).toEqual([["fleet.RUN.csv"], []]);
    house.runs.refusal = undefined;
    house.runs.meanwhile = () => undefined;
    await house.look();
    expect(namesOf(house)).toEqual([]);
    await house.look(settleMs);
    expect(house.runs.submitted).toMatchObject([{ content: "simId,speedClass\nthe other half\n" }]);
  });

  it("overwrites nothing when files of one name come again and again", async () => {
    const house = new FolderHouse();
    for (const content of ["one\n", "two\n", "three\n"]) await house.drop("fleet.csv", content);
    house.runs.end();
    await house.look();
    expect(house.files("done")).toHaveLength(6);
    const kept = house.runs.submitted.map(({ runId }) => house.read(`done/fleet.${runId}.csv`));
    expect(kept).toEqual(["one\n", "two\n", "three\n"]);
  });

  it("has a name that fits, however long the file's was", async () => {
    const house = new FolderHouse();
    await house.drop(`${"ü".repeat(120)}.csv`);
    house.runs.end();
    await house.look();
    expect(house.files("done")).toEqual([`${"ü".repeat(90)}.RUN.csv`, `${"ü".repeat(90)}.RUN.results.csv`]);
  });
});

describe("several watchers", () => {
  it("take each file once, and one goes on where another is gone", async () => {
    const house = new FolderHouse();
    const other = house.worker();
    for (let i = 0; i < 20; i += 1) house.write(`f${i}.csv`);
    await Promise.all([house.look(), house.look(0, other)]);
    house.clock.pass(settleMs);
    await Promise.all([house.look(), house.look(0, other)]);
    expect(namesOf(house).toSorted()).toEqual(Array.from({ length: 20 }, (_, i) => `f${i}.csv`).toSorted());
    house.runs.end();
    // Both are gone; a third finds everything in processing/.
    const third = house.worker();
    await house.look(0, third);
    expect(house.files("done")).toEqual([]);
    await house.look(settleMs, third);
    expect([house.files("done").length, house.files("processing")]).toEqual([40, []]);
    expect(house.runs.told).toHaveLength(40);
  });
});

describe("trouble", () => {
  it("with one file is told once and tried again, and holds up no other", async () => {
    const house = new FolderHouse();
    await house.drop("first.csv");
    const results = house.runs.results.bind(house.runs);
    house.runs.results = async function* () {
      await Promise.reject(Object.assign(new Error("ENOSPC: no room"), { code: "ENOSPC" }));
      yield "";
    };
    house.runs.end();
    for (let i = 0; i < 4; i += 1) await house.look(120_000);
    house.runs.refusal = { reason: "bad", faults: [] };
    await house.drop("second.csv");
    expect(house.files("failed")).toEqual(["second.RUN.csv", "second.RUN.problem.txt"]);
    expect(house.troubles).toEqual([
      expect.stringMatching(/^processing\/first\.r-\S+\.csv: ENOSPC: .* \(it is tried again\)$/),
    ]);
    house.runs.results = results;
    await house.look(120_000);
    expect(house.files("done")).toEqual(["first.RUN.csv", "first.RUN.results.csv"]);
    expect(house.files("processing")).toEqual([]);
  });

  it("is tried again later and later, and begins anew once it has passed", async () => {
    const house = new FolderHouse();
    let tries = 0;
    house.runs.fault = new Error("EIO: the disk");
    const submit = house.runs.submit.bind(house.runs);
    house.runs.submit = (...args) => ((tries += 1), submit(...args));
    await house.drop("fleet.csv");
    for (let second = 0; second < 120; second += 2) await house.look(2_000);
    expect(tries).toBeGreaterThanOrEqual(5);
    expect(tries).toBeLessThanOrEqual(12);
    expect(house.troubles).toHaveLength(1);
    house.runs.fault = undefined;
    await house.look(60_000);
    expect(namesOf(house)).toEqual(["fleet.csv"]);
  });

  it("with the folder itself is told once, and makes no folder where a mount should be", async () => {
    const house = new FolderHouse();
    rmSync(house.path, { recursive: true });
    for (let i = 0; i < 3; i += 1) await house.look(120_000);
    expect(house.troubles).toEqual([expect.stringMatching(/^\(folder\): ENOENT: /)]);
    mkdirSync(house.path);
    house.clock.pass(120_000);
    await house.drop("fleet.csv");
    expect(namesOf(house)).toEqual(["fleet.csv"]);
  });
});

describe("a name that cannot be shown as it is", () => {
  it.each([
    ["a line break", Buffer.from("fleet\nof today.csv"), "fleet_of today.RUN"],
    ["an escape sequence", Buffer.from("\x1b[31mfleet.csv"), "_[31mfleet.RUN"],
    ["a line break at its end", Buffer.from("fleet.csv\n"), "fleet.csv_.RUN"],
    ["a change of direction", Buffer.from("fleet\u202Evsc.csv"), "fleet_vsc.RUN"],
    ["bytes that are not UTF-8", Buffer.from([0x66, 0xe4, 0x2e, 0x63, 0x73, 0x76]), "f_.RUN"],
  ])("with %s refuses the file, under a name that can be", async (_, rawName, shown) => {
    const house = new FolderHouse();
    writeFileSync(Buffer.concat([Buffer.from(`${house.path}/`), rawName]), "simId\n");
    await house.look();
    await house.look(settleMs);
    await house.look(settleMs);
    expect(house.files()).toEqual([]);
    expect(house.files("failed")).toEqual([`${shown}.csv`, `${shown}.problem.txt`].toSorted());
    expect(namesOf(house)).toEqual([]);
    expect(house.runs.told).toEqual([
      expect.stringMatching(/^file\.refused [^\n]+ Its name (has control|is not valid)/),
    ]);
    expect(house.troubles).toEqual([expect.stringMatching(/ was refused and lies in failed\/ as /)]);
  });

  it("is given a better one where the file was taken by an earlier version", async () => {
    const house = new FolderHouse();
    await house.look();
    writeFileSync(join(house.path, "processing", "a\nb.r-20261120-103045-abcdefgh.csv"), "simId\n");
    for (let i = 0; i < 3; i += 1) await house.look(settleMs);
    expect(house.runs.submitted).toMatchObject([{ name: "a_b.csv", runId: "r-20261120-103045-abcdefgh" }]);
  });
});

const mkfifo = "mkfifo";

describe("whoever may write to the folder", () => {
  it("gets nothing read by putting a link or a pipe in the place of a file that was taken", async () => {
    const house = new FolderHouse();
    writeFileSync(join(house.path, "secret.txt"), "marker-0815\n");
    for (const [name, exchange] of [
      ["link.csv", (path: string) => symlinkSync(join(house.path, "secret.txt"), path)],
      ["pipe.csv", (path: string) => execFileSync(mkfifo, [path])],
    ] as const) {
      house.write(name);
      await house.look();
      house.clock.pass(settleMs);
      const newRunId = house.runs.newRunId.bind(house.runs);
      house.runs.newRunId = () => {
        house.runs.newRunId = newRunId;
        rmSync(join(house.path, name));
        exchange(join(house.path, name));
        return newRunId();
      };
      for (let i = 0; i < 3; i += 1) await house.look(settleMs);
    }
    expect(house.files("processing")).toEqual([]);
    expect(house.files("failed")).toEqual(
      ["link.RUN.csv", "link.RUN.problem.txt", "pipe.RUN.csv", "pipe.RUN.problem.txt"].toSorted(),
    );
    expect(namesOf(house)).toEqual([]);
    expect(house.runs.told).toEqual([
      expect.stringMatching(/^file\.refused link\.csv It is a symbolic link, put in the place/),
      expect.stringMatching(/^file\.refused pipe\.csv It is not a regular file, put in the place/),
    ]);
  });

  it("stops the watch with a link in the place of one of its folders, and moves nothing through it", async () => {
    for (const place of ["processing", "done", "failed"]) {
      const house = new FolderHouse();
      mkdirSync(join(house.path, "elsewhere"));
      symlinkSync(join(house.path, "elsewhere"), join(house.path, place));
      await house.drop("fleet.csv");
      expect(house.files()).toContain("fleet.csv");
      expect(house.files("elsewhere")).toEqual([]);
      expect(house.troubles).toEqual([
        `(folder): (folder)/${place} is a symbolic link; it has to be a folder. (it is tried again)`,
      ]);
    }
  });

  it.runIf(process.geteuid?.() === 0)("stops the watch with a folder of another user", async () => {
    const house = new FolderHouse();
    mkdirSync(join(house.path, "processing"));
    chownSync(join(house.path, "processing"), 12_345, 12_345);
    await house.drop("fleet.csv");
    expect([house.files(), house.files("processing")]).toEqual([["fleet.csv"], []]);
    expect(house.troubles).toEqual([
      "(folder): The folder (folder)/processing belongs to another user (id 12345). (it is tried again)",
    ]);
  });
});
