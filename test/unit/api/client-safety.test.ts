import { describe, expect, it } from "vitest";
import { createCredential } from "#api/operations/credentials.ts";
import { Secret } from "#core/secret.ts";
import { answer, clientFor, type Handler, refusalOf, startOpenPlatform } from "./support.ts";

describe("the API client", () => {
  // Shows S1.
  it("the client shows no secret in any error, regardless of what the platform echoes", async () => {
    const secrets = ["secret-auth-key", "api-key-1", "token-1", "the-psk-value"];
    let echo: Handler = () => undefined;
    await using platform = await startOpenPlatform((request, response) => echo(request, response));
    await using client = clientFor(platform.url);
    await client.whoAmI();
    const input = {
      credentialsId: "c1",
      type: "psk",
      credentials: { key: new Secret("the-psk-value") },
    };
    for (const status of [200, 201, 302, 400, 403, 404, 500, 503]) {
      for (const wrap of [
        (t: string) => t,
        (t: string) => JSON.stringify({ code: t, message: t }),
        (t: string) => `<title>${t}</title>`,
      ]) {
        echo = (_request, response) => answer(response, status, wrap(`no ${secrets.join(" ")} here`));
        const error = await refusalOf(client.call(createCredential, input));
        const shown = `${error.stack} ${JSON.stringify(error)} ${String(error.cause)} ${error.platformCode}`;
        for (const secret of secrets) expect(shown).not.toContain(secret);
      }
    }
  });

  it.each([
    [{ endpoints: { global: "http://api.example.com" } }, "SIMFLEET_ENDPOINT_GLOBAL"],
    [{ brand: "a b" }, "SIMFLEET_BRAND"],
    [{ tokenVerification: { jwksUrl: "http://keys.example.com/jwks" } }, "SIMFLEET_JWKS_URL"],
  ])("the client refuses to start with %j", (changes, setting) => {
    expect(() => clientFor("https://api.example.com", changes)).toThrow(setting);
  });
});
