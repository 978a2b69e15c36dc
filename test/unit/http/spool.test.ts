import { mkdtemp, open, readFile, readdir, rm, stat, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { type Clock, systemClock } from "#core/time.ts";
import { Secret } from "#core/secret.ts";
import { Seal } from "#engine/seal.ts";
import { Spool } from "#http/plans/spool.ts";

async function spool(
  clock: Clock = systemClock,
  { seal, maxBytes = 10 }: { seal?: Seal; maxBytes?: number } = {},
): Promise<{ spool: Spool; names: () => Promise<string[]> }> {
  const dataDir = await mkdtemp(join(tmpdir(), "spool-"));
  onTestFinished(() => rm(dataDir, { recursive: true }));
  return {
    spool: new Spool({ dataDir, maxBytes, clock, seal }),
    names: () => readdir(join(dataDir, "spool")),
  };
}

test("an upload is spooled to a file with its digest up to the size limit", async () => {
  const { spool: harness, names } = await spool();
  const taken = await harness.take(Readable.from([Buffer.from("01234"), Buffer.from("56789")]), "full");
  expect(taken).toMatchObject({
    bytes: 10,
    sha256: "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882",
  });
  await expect(harness.take(Readable.from([Buffer.from("0123456789a")]), "over")).rejects.toMatchObject({
    code: "TOO_LARGE",
  });
  expect(await names()).toEqual(["full"]);
});

test("a stalled upload is aborted and leaves no file", async () => {
  let passTime: () => void = () => undefined;
  const clock: Clock = {
    ...systemClock,
    sleep: (_delayMs, signal) =>
      new Promise((resolve, reject) => {
        passTime = resolve;
        signal?.addEventListener("abort", () => reject(signal.reason as Error));
      }),
  };
  const { spool: harness, names } = await spool(clock);
  const slow = new PassThrough();
  const taking = harness.take(slow, "slow");
  slow.write("012");
  await new Promise((resolve) => slow.once("drain", resolve).once("resume", resolve));
  const passing = setInterval(() => passTime(), 1);
  onTestFinished(() => clearInterval(passing));
  await expect(taking).rejects.toMatchObject({ code: "REQUEST_TIMEOUT" });
  expect(await names()).toEqual([]);
});

test("an upload that does not fit on the disk is refused with the folder to make room in, and leaves no file", async () => {
  const { spool: harness, names } = await spool();
  const full = Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
  const source = new PassThrough();
  const taking = harness.take(source, "large");
  source.write("012");
  source.destroy(full);
  await expect(taking).rejects.toMatchObject({
    code: "STORE_FULL",
    message: expect.stringMatching(/^The disk of .*spool is full: free some space/),
  });
  expect(await names()).toEqual([]);
});

test("the spool removes files of earlier processes and keeps new ones", async () => {
  const { spool: harness, names } = await spool();
  await harness.open();
  await writeFile(harness.path("new"), "");
  await writeFile(harness.path("old"), "");
  await utimes(harness.path("old"), 1, 1);
  await harness.sweep();
  expect(await names()).toEqual(["new"]);
});

const seal = new Seal({ key: new Secret(Buffer.alloc(32, 7).toString("base64url")), previousKey: undefined });

async function contentOf(harness: Spool, name: string): Promise<Buffer> {
  const { read } = harness.inputFile(harness.path(name));
  return read === undefined ? Buffer.from("stored in clear") : buffer(Readable.from(read(), { objectMode: false }));
}

test.each([0, 1, 65_536, 300_001])(
  "an upload of %d bytes is read back as it was, and is encrypted on disk",
  async (bytes) => {
    const { spool: harness } = await spool(systemClock, { seal, maxBytes: 1_000_000 });
    const clear = Buffer.alloc(bytes, "topsecret,");
    await harness.take(Readable.from(clear.length === 0 ? [] : [clear]), "file");
    expect((await readFile(harness.path("file"))).includes("secret")).toBe(false);
    for (const pass of [1, 2]) expect((await contentOf(harness, "file")).equals(clear), `pass ${pass}`).toBe(true);
  },
);

test("an encrypted upload that was altered or cut off is refused", async () => {
  const { spool: harness } = await spool(systemClock, { seal, maxBytes: 1_000_000 });
  for (const name of ["altered", "cut"]) await harness.take(Readable.from([Buffer.alloc(5_000, "x")]), name);
  const altered = await open(harness.path("altered"), "r+");
  await altered.write("!", 2_000);
  await altered.close();
  await truncate(harness.path("cut"), (await stat(harness.path("cut"))).size - 1);
  await expect(contentOf(harness, "altered")).rejects.toThrow("was altered on disk: send it again");
  await expect(contentOf(harness, "cut")).rejects.toThrow("was altered on disk: send it again");

  await writeFile(harness.path("clear"), "simId\n");
  await expect(contentOf(harness, "clear")).rejects.toMatchObject({ code: "SEAL_DECRYPTION_FAILED" });
});
