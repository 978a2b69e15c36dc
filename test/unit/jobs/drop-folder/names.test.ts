import { describe, expect, it } from "vitest";
import { besideName, isInput, readTakenName, takenName } from "#jobs/drop-folder/work.ts";

const runId = "r-20261120-103045-x7k2m9ab";

describe("names of files in a drop folder", () => {
  it.each(["fleet.csv", "FLEET.CSV", "a b.csv", "日本.csv", "fleet.tmp.csv", `x.${runId}.results.csv`])(
    "%s is the name of an input file",
    (name) => expect(isInput(name)).toBe(true),
  );

  it.each(["", ".csv", ".fleet.csv.9qWz1a", "fleet.csv.part", "x.csv.PART", "x.csv.crdownload", "x.csv.filepart"])(
    "%s is not the name of an input file",
    (name) => expect(isInput(name)).toBe(false),
  );

  it.each(["fleet.csv", "a.b.csv", `again.${runId}.csv`, "r-1.csv"])(
    "%s can be restored from its name in processing",
    (name) => {
      const taken = takenName(name, runId);
      expect(readTakenName(taken)).toEqual({ name: taken, runId, original: name });
    },
  );

  it("the name of a results or problem file is derived from its input and never matches an input name", () => {
    const taken = takenName("fleet.csv", runId);
    expect(besideName(taken, "results.csv")).toBe(`fleet.${runId}.results.csv`);
    expect(besideName(taken, "problem.txt")).toBe(`fleet.${runId}.problem.txt`);
    expect(readTakenName(besideName(taken, "results.csv"))).toBeUndefined();
    expect(readTakenName("put-here-by-hand.csv")).toBeUndefined();
  });
});
