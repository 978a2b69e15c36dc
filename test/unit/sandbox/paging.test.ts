import { describe, expect, test } from "vitest";
import { openSandbox, type OpenSandbox } from "./open-sandbox.ts";

/** Reads a list by one of the two headers. @returns the ids, and the length of each page */
async function readAll(
  { call }: OpenSandbox,
  { path = "/v1/sims", by = "key", limit = "" }: { path?: string; by?: "key" | "link"; limit?: string } = {},
): Promise<{ ids: string[]; lengths: number[] }> {
  const ids: string[] = [];
  const lengths: number[] = [];
  let cursor: string | null = null;
  do {
    const query = [limit && `limit=${limit}`, cursor !== null && `last_evaluated_key=${cursor}`].filter(Boolean);
    const { status, headers, json } = await call("GET", `${path}?${query.join("&")}`);
    expect(status).toBe(200);
    lengths.push(json.length);
    ids.push(...json.map((record: { simId?: string; imsi: string }) => record.simId ?? record.imsi));
    const key = headers.get("x-svc-next-key");
    const linked = /^<[^?]+\?last_evaluated_key=(.*)>; rel=next$/.exec(headers.get("link") ?? "")?.[1] ?? null;
    cursor = by === "link" ? linked : key && encodeURIComponent(key);
  } while (cursor !== null);
  return { ids, lengths };
}

describe("paging", () => {
  test("a page limit is capped at the maximum page size", async () => {
    const opened = await openSandbox({ sims: 1_100 });
    expect((await readAll(opened, { limit: "2000" })).lengths).toEqual([1_000, 100]);
    expect((await readAll(opened, { limit: "600" })).lengths).toEqual([600, 500]);
  });

  test.each(["link", "key"] as const)("the sandbox can name the next page in %s only", async (paging) => {
    const opened = await openSandbox({ sims: 150, paging });
    const { headers } = await opened.call("GET", "/v1/sims");
    expect(headers.has("link")).toBe(paging === "link");
    expect(headers.has("x-svc-next-key")).toBe(paging === "key");
    expect((await readAll(opened, { by: paging })).lengths).toEqual([100, 50]);
  });

  test("short and empty pages omit no SIM and are the same for the same seed", async () => {
    const options = { sims: 400, pageSize: 20, shortPages: 0.3, emptyPages: 0.3, limits: { Sim: 1e6 } };
    const opened = await openSandbox(options);
    const { ids, lengths } = await readAll(opened);
    expect(ids).toEqual(Array.from({ length: 400 }, (_, i) => opened.sandbox.state.sims.simIdAt(i)));
    expect(lengths.filter((length) => length === 0).length).toBeGreaterThan(1);
    expect(lengths.filter((length) => length > 0 && length < 20).length).toBeGreaterThan(1);
    expect((await readAll(await openSandbox(options))).lengths).toEqual(lengths);
    expect((await readAll(await openSandbox({ ...options, seed: 2 }))).lengths).not.toEqual(lengths);
  });
});
