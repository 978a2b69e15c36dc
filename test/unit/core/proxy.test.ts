/** Which calls go through the proxy of the environment, and what is said where it fails. */
import { createServer, type LookupFunction } from "node:net";
import { describe, expect, it, onTestFinished, test } from "vitest";
import * as undici from "undici";
import { parseAddress } from "#api/http/address.ts";
import { openTransport } from "#api/http/transport.ts";
import { fetchThrough, openDispatcher, type OutgoingProxy } from "#core/proxy.ts";
import { Secret } from "#core/secrets/secret.ts";
import { systemClock } from "#core/time.ts";
import { webhookSender } from "#events/webhook/webhook.ts";
import { connectProxy } from "../../support/connect-proxy.ts";
import { answer, startPlatform } from "../api/support.ts";

function proxyAt(port: number, except = ""): OutgoingProxy {
  const shown = `http://127.0.0.1:${port}`;
  return { url: new Secret(shown), shown, variable: "HTTPS_PROXY", except };
}

/** Calls of any address, where each name is one of this machine. */
function getThrough(proxy: OutgoingProxy) {
  const here: LookupFunction = (_, { all }, found) =>
    all === true ? found(null, [{ address: "127.0.0.1", family: 4 }]) : found(null, "127.0.0.1", 4);
  const options = { connectTimeoutMs: 1_000, connect: undici.buildConnector({ lookup: here }) };
  const dispatcher = openDispatcher(undici, options, proxy);
  onTestFinished(() => dispatcher.close());
  return (origin: string) => dispatcher.request({ origin, path: "/", method: "GET" });
}

/** The error of a call to a platform behind the proxy. */
async function faultBehind(proxy: OutgoingProxy): Promise<unknown> {
  const transport = openTransport({ connections: 1, clock: systemClock, proxy });
  onTestFinished(() => transport.close());
  const address = parseAddress("https://platform.example", "SIMFLEET_ENDPOINT_GLOBAL");
  const call = { operation: "op", address, method: "GET", path: "/v1/x", headers: [] } as const;
  return transport.exchange(call).catch((thrown: unknown) => thrown);
}

describe("connections", () => {
  it("are those of before where no proxy is named", () => {
    expect(openDispatcher(undici, { connectTimeoutMs: 1_000 }, undefined).constructor).toBe(undici.Agent);
  });

  it("go directly to this machine and to the hosts that are exempted, and else through the proxy", async () => {
    await using platform = await startPlatform((_, response) => answer(response, 200, {}));
    await using proxy = await connectProxy({ refuses: 403 });
    const get = getThrough(proxyAt(proxy.port, "internal.example,.other.example"));
    const { port } = new URL(platform.url);
    for (const host of ["127.0.0.1", "localhost", "127.0.0.2", "internal.example", "x.other.example"]) {
      const isServed = get(`http://${host}:${port}`).then(({ body }) => body.dump());
      // The platform of this test does not listen there.
      if (host === "127.0.0.2") await expect(isServed).rejects.toMatchObject({ code: "ECONNREFUSED" });
      else await isServed;
    }
    expect(proxy.asked).toEqual([]);
    await expect(get("https://platform.example")).rejects.toThrow("Proxy response (403)");
    expect(proxy.asked).toEqual(["platform.example:443"]);
  });

  it.each([
    [{ login: "a:b" }, "the proxy asks for a user and a password (407). Give them in HTTPS_PROXY"],
    [
      { refuses: 403 },
      "the proxy refused to connect to platform.example (403). Ask who runs it, or name the host in NO_",
    ],
  ])("say why the proxy did not make them: %j", async (options, words) => {
    await using proxy = await connectProxy(options);
    expect(await faultBehind(proxyAt(proxy.port))).toMatchObject({
      code: "PLATFORM_UNAVAILABLE",
      mayHaveApplied: false,
      message: expect.stringContaining(`op: ${words}`) as string,
    });
  });

  it("say that the proxy cannot be reached, not the platform", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => void server.once("listening", resolve));
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => void server.close(resolve));
    const message = `op: the proxy http://127.0.0.1:${port} cannot be reached (ECONNREFUSED). Check HTTPS_PROXY.`;
    expect(await faultBehind(proxyAt(port))).toMatchObject({ code: "PLATFORM_UNAVAILABLE", message });
  });
});

test("key sets of an issuer are fetched through the proxy", async () => {
  await using proxy = await connectProxy({});
  const answered = await fetchThrough(proxyAt(proxy.port), "http://issuer.example/keys", {}, 1_000);
  expect([answered.status, await answered.text()]).toEqual([200, "{}"]);
  expect(proxy.asked).toEqual(["http://issuer.example/keys"]);
});

// Shows S12.
describe("webhooks behind a proxy", () => {
  const addresses: Readonly<Record<string, string>> = { "inside.example": "10.0.0.5", "outside.example": "1.1.1.1" };
  const lookup: LookupFunction = (name, _, found) => {
    const address = addresses[name];
    if (address === undefined) found(new Error("ENOTFOUND"), []);
    else found(null, [{ address, family: 4 }]);
  };

  it.each([
    ["https://10.0.0.5/", undefined, "10.0.0.5 is private; set allowPrivate to allow it"],
    ["https://inside.example/", undefined, "10.0.0.5 is private; set allowPrivate to allow it"],
    ["https://outside.example/", "outside.example:443", "the proxy refused to connect to outside.example (403)"],
    ["https://elsewhere.example/", "elsewhere.example:443", "the proxy refused to connect to elsewhere.example (403)"],
  ])("an address that is known to be private is not asked for: %s", async (url, asked, reason) => {
    await using proxy = await connectProxy({ refuses: 403 });
    const config = { proxy: proxyAt(proxy.port) };
    const sender = webhookSender({ clock: systemClock, userAgent: "simfleet/test", config, lookup });
    onTestFinished(() => sender.close());
    const sent = await sender.send({ url, id: "msg_1", body: "{}", secrets: [] });
    expect(sent).toEqual({ kind: "unanswered", reason: expect.stringContaining(reason) as string });
    expect(proxy.asked).toEqual(asked === undefined ? [] : [asked]);
  });
});
