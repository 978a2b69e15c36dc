/** The usage of the sandbox's SIMs, and its exports. */
import { expect, test } from "vitest";
import { openAll } from "./open-sandbox.ts";

const exportPath = "/v1/stats/air/operators/OP0000000001/export?export_mode=async";
const juneSecond = Date.UTC(2026, 5, 1) / 1_000;
const hourMs = 3_600_000;

/** A sandbox on June 2, and the file of an export since June 1. */
async function setup(options = {}) {
  const opened = await openAll({ sims: 10, exportMs: 2_000, ...options });
  opened.clock.pass(36 * hourMs);
  const order = async (period: string) => {
    const body = { from: juneSecond, to: juneSecond + 36 * 3_600, period };
    return String((await opened.call("POST", exportPath, { body })).json.exportedFileId);
  };
  const progress = async (id: string) => (await opened.call("GET", `/v1/files/exported/${id}`)).json;
  const fileOf = async (period: string) => {
    const id = await order(period);
    opened.clock.pass(2_000);
    const answer = await fetch(String((await progress(id)).url));
    return (await answer.text())
      .trim()
      .split("\r\n")
      .map((line) => line.split(","));
  };
  return { ...opened, order, progress, fileOf };
}

test("an export is processing until it is exported", async () => {
  const { order, progress, clock } = await setup();
  const id = await order("month");
  expect(await progress(id)).toEqual({ exportedFileId: id, status: "processing" });
  clock.pass(2_000);
  const done = await progress(id);
  expect(done).toMatchObject({ status: "exported", url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:/) });
});

test("a file has a line for each SIM, date and type, and its days make the month", async () => {
  const { fileOf, sandbox } = await setup();
  const [days, months] = [await fileOf("day"), await fileOf("month")];
  const sumOf = (lines: string[][]) =>
    lines.slice(1).reduce((sum, cells) => sum + Number(cells[3]) + Number(cells[5]), 0);
  expect(new Set(days.slice(1).map(([, date]) => date))).toEqual(new Set(["20260601", "20260602"]));
  expect(new Set(months.slice(1).map(([, date]) => date))).toEqual(new Set(["202606"]));
  const places = Array.from({ length: 10 }, (_, place) => place);
  const used = places.map((place) =>
    sandbox.state.exports.bytesAt(place, juneSecond * 1e3, juneSecond * 1e3 + 36 * hourMs),
  );
  expect(sumOf(months)).toBe(used.reduce((sum, bytes) => sum + bytes));
  expect(sumOf(days)).toBe(sumOf(months));
});

test("a file needs the signature of its address", async () => {
  const { order, progress, clock, send } = await setup();
  const id = await order("day");
  clock.pass(2_000);
  await progress(id);
  expect((await send("GET", `/exported/${id}?signature=no`)).status).toBe(404);
});

test.each([{ period: "minutes" }, { from: 5, to: 4 }, { from: 0 }])("an export of %o is refused", async (part) => {
  const { call } = await setup();
  const body = { from: juneSecond, to: juneSecond + 60, period: "day", ...part };
  expect((await call("POST", exportPath, { body })).status).toBe(400);
});
