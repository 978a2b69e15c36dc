import { expect, it } from "vitest";
import { createCredential } from "#api/operations/credentials.ts";
import { Secret } from "#core/secrets/secret.ts";
import { answer, clientFor, type Handler, refusalOf, startOpenPlatform } from "./support.ts";

const secrets = ["secret-auth-key", "api-key-1", "token-1", "the-psk-value"];
const echo = `no ${secrets.join(" ")} here`;
const bodies = [echo, JSON.stringify({ code: echo, message: echo }), `<title>${echo}</title>`];
const psk = { credentialsId: "c1", type: "psk", credentials: { key: new Secret("the-psk-value") } };

// Shows S1.
it("the client shows no secret in any error, regardless of what the platform echoes", async () => {
  let reply: Handler = () => undefined;
  await using platform = await startOpenPlatform((request, response) => reply(request, response));
  await using client = clientFor(platform.url);
  await client.whoAmI();
  for (const status of [200, 201, 302, 400, 403, 404, 500, 503]) {
    for (const body of bodies) {
      reply = (_request, response) => answer(response, status, body);
      const error = await refusalOf(client.call(createCredential, psk));
      const shown = `${error.stack} ${JSON.stringify(error)} ${String(error.cause)} ${error.platformCode}`;
      for (const secret of secrets) expect(shown).not.toContain(secret);
    }
  }
});
