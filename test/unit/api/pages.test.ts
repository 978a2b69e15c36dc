import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { listSims, listSubscribers } from "#api/operations/sims.ts";
import { readNextKeys } from "#api/pages.ts";
import { answer, refusalOf, startOpenPlatform, clientTo } from "./support.ts";

const nextKeyHeader = "x-svc-next-key";

/** Pages by the key that asks for them: ids of SIMs and the headers that go with them. */
async function setup(pages: Record<string, { sims: object[]; headers?: Record<string, string> }>) {
  const platform = await startOpenPlatform((request, response) => {
    const key = new URL(request.url ?? "", "http://h").searchParams.get("last_evaluated_key") ?? "";
    const page = pages[key];
    if (page === undefined) answer(response, 404, "");
    else answer(response, 200, page.sims, page.headers);
  });
  return clientTo(platform);
}

const simOf = (simId: string): object => ({ simId, imsi: `00101${simId}` });

async function idsOf(pages: AsyncIterable<{ items: readonly { simId?: unknown }[] }>): Promise<unknown[]> {
  const ids: unknown[] = [];
  for await (const page of pages) ids.push(...page.items.map((sim) => sim.simId));
  return ids;
}

// Shows S6.
describe("list pages", () => {
  it("pages follow the link header and use only the key from it", async () => {
    const evil = "<https://evil.example/steal?last_evaluated_key=k%2B1&x=1>; rel=next";
    const { client } = await setup({
      "": { sims: [simOf("1")], headers: { link: evil } },
      "k+1": { sims: [simOf("2")], headers: { link: "</v1/sims?last_evaluated_key=x>; rel=prev" } },
    });
    expect(await idsOf(client.pages(listSims, {}))).toEqual(["1", "2"]);
  });

  it.each(["k1", "k2"])("a listing fails when the page key %s repeats", async (again) => {
    const { platform, client } = await setup({
      "": { sims: [simOf("1")], headers: { [nextKeyHeader]: "k1" } },
      k1: { sims: [simOf("2")], headers: { [nextKeyHeader]: "k2" } },
      k2: { sims: [simOf("3")], headers: { [nextKeyHeader]: again } },
    });
    const error = await refusalOf(idsOf(client.pages(listSims, {})));
    expect(error).toMatchObject({ code: "PLATFORM_RESPONSE_INVALID", operation: "listSims" });
    expect(platform.seen.length).toBe(4);
  });

  it("a listing fails when the two headers name different next pages", async () => {
    const link = (key: string): Record<string, string> => ({ link: `</v1/sims?last_evaluated_key=${key}>; rel=next` });
    const { client } = await setup({
      "": { sims: [simOf("1")], headers: { [nextKeyHeader]: "k+1/", ...link("k%2B1%2F") } },
      "k+1/": { sims: [simOf("2")], headers: { [nextKeyHeader]: "k2", ...link("k3") } },
    });
    const pages = client.pages(listSims, {});
    expect((await pages.next()).value).toMatchObject({ nextKey: "k+1/" });
    const error = await refusalOf(pages.next());
    expect(error).toMatchObject({ code: "PLATFORM_RESPONSE_INVALID", message: expect.stringContaining("header link") });
  });

  it("a listing fails when a page key is too long", async () => {
    const { client } = await setup({ "": { sims: [], headers: { [nextKeyHeader]: "k".repeat(5_000) } } });
    expect((await refusalOf(idsOf(client.pages(listSims, {})))).message).toContain("too long");
  });

  it("pages of the earlier API wording are supported and validated", async () => {
    const items = [{ imsi: "00101", more: true }];
    const { client } = await setup({
      "": { sims: items, headers: { [nextKeyHeader]: "k" } },
      k: { sims: [{ simId: "1" }], headers: { [nextKeyHeader]: "k" } },
    });
    const pages = client.pages(listSubscribers, {});
    expect((await pages.next()).value).toEqual({ items, nextKey: "k" });
    expect((await refusalOf(pages.next())).message).toContain("0.imsi");
  });
});

describe("next page keys", () => {
  it.each([
    [{ link: "</v1/sims?last_evaluated_key=abc>; rel=next" }, "abc"],
    [{ link: '</v1/sims?limit=1&last_evaluated_key=abc>; title="x"; rel="next"' }, "abc"],
    [{ link: "</a?last_evaluated_key=p>; rel=prev, </b?last_evaluated_key=n>; rel=next" }, "n"],
    [{ link: "</v1/sims?last_evaluated_key=%E3%81%82%>; rel=next" }, "%E3%81%82%"],
    [{ link: "</v1/sims?last_evaluated_key=>; rel=next" }, undefined],
    [{ link: "</v1/sims?x=1>; rel=next" }, undefined],
    [{ link: "nonsense" }, undefined],
    [{ [nextKeyHeader]: "own", link: "</v1/sims?last_evaluated_key=other>; rel=next" }, "own", "other"],
    [{ [nextKeyHeader]: "", link: "</v1/sims?last_evaluated_key=other>; rel=next" }, "other"],
    [{}, undefined],
  ])("the next page key of %j is %s", (headers, ...keys) =>
    expect(readNextKeys(headers, nextKeyHeader)).toEqual(keys.filter((key) => key !== undefined)),
  );

  it("reading a next page key from arbitrary input is fast and never throws", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("<", ">", ";", ",", " ", "rel=next", "?last_evaluated_key=", "%", "x")),
        (deps) => {
          readNextKeys({ link: deps.join("") }, nextKeyHeader);
        },
      ),
    );
    for (const part of ["<", ", <", ";rel", "<?last_evaluated_key=", "; rel =   "]) {
      readNextKeys({ link: part.repeat(100_000) }, nextKeyHeader);
    }
  });
});
