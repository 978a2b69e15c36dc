/** Where an exported file may be downloaded from, and what the request tells. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, LookupFunction } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { type DownloadOptions, download } from "#jobs/usage/export.ts";
import { isLong } from "../../support/long.ts";

const options: DownloadOptions = {
  hosts: ["files.example.com", "127.0.0.1"],
  isLocal: true,
  proxy: undefined,
  userAgent: "test",
  signal: new AbortController().signal,
};

function downloadFrom(address: string, more: Partial<DownloadOptions> = {}): Promise<string> {
  return download(address, { ...options, ...more }, text);
}

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/file?signature=s3cret`;
}

test.each([
  ["no listed host", "https://files.example.com/a", { hosts: [] }, "files.example.com is not among downloads.hosts"],
  ["a host with a listed one in front", "https://files.example.com.evil.org/a", {}, "is not among downloads.hosts"],
  ["a host whose name ends like a listed one", "https://my-files.example.com/a", {}, "is not among downloads.hosts"],
  ["an address without encryption", "http://files.example.com/a", {}, "its address is not https"],
  ["a user name", "https://me:pw@files.example.com/a", {}, "its address is not valid"],
  ["this machine, unless the platform is there", "http://127.0.0.1:9/a", { isLocal: false }, "leads to this machine"],
  ["no address", "files", {}, "its address is not valid"],
])("a file is not downloaded from %s", async (_, address, more, reason) => {
  await expect(downloadFrom(address, more)).rejects.toThrow(reason);
});

// Shows S6.
test("a file is not downloaded from a private network that the name of its host leads to", async () => {
  const lookup: LookupFunction = (_, __, callback) => callback(null, [{ address: "10.0.0.5", family: 4 }]);
  const failure = downloadFrom("https://eu.files.example.com/a?signature=s3cret", { lookup });
  await expect(failure).rejects.toThrow("The export cannot be downloaded: 10.0.0.5 is private");
});

// Shows S6.
test("a download follows no redirect, and does not say its address", async () => {
  const address = await serve((_, response) => response.writeHead(302, { location: "/other" }).end());
  const failure: unknown = await downloadFrom(address).catch((thrown: unknown) => thrown);
  expect(String(failure)).toMatch(/answered with 302/);
  expect(String(failure)).not.toMatch(/s3cret|file\?/);
});

// Shows S6.
test("a download brings no credentials with it", async () => {
  const names: string[] = [];
  const address = await serve((request, response) => {
    names.push(...Object.keys(request.headers));
    response.end("a,b\n");
  });
  expect(await downloadFrom(address)).toBe("a,b\n");
  expect(names.toSorted()).toEqual(["accept", "connection", "host", "user-agent"]);
});

test.runIf(isLong)("a download that stalls ends after half a minute", async () => {
  const address = await serve((_, response) => void response.write("imsi,date\n"));
  await expect(downloadFrom(address)).rejects.toThrow("UND_ERR_BODY_TIMEOUT");
});
