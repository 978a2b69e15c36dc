import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { createAuthKey } from "#api/operations/auth-keys.ts";
import { updateCredential } from "#api/operations/credentials.ts";
import { loadDeployment } from "#config/deployment.ts";
import { liveSecrets, Secret } from "#core/secrets/secret.ts";
import type { DeploymentOperationId } from "#fleet/deployment-operation.ts";
import { requireOperation } from "#fleet/required-operation.ts";
import { answer, clientTo, refusalOf, startOpenPlatform } from "./support.ts";

const soracom = loadDeployment("soracom", []);
const of = (id: DeploymentOperationId) => requireOperation(soracom, id, "This test");
const owner = { operatorId: "OP1" };

/** A client of a platform that answers each call with this. */
const setup = async (status: number, body: object) =>
  clientTo(await startOpenPlatform((_, response) => answer(response, status, body)));

describe("AuthKeys", () => {
  it.each([200, 201])(
    "an AuthKey is created without a body on status %i, and its secret does not print itself",
    async (status) => {
      const { platform, client } = await setup(status, { authKeyId: "keyId-c", authKey: "secret-of-new-key" });
      const created = await client.call(createAuthKey(of("createAuthKey"), owner), undefined);
      expect(created.authKey.reveal()).toBe("secret-of-new-key");
      expect(`${inspect(created)} ${JSON.stringify(created)}`).not.toContain("secret-of-new-key");
      expect(liveSecrets()).toContain("secret-of-new-key");
      expect(platform.seen.at(-1)).toMatchObject({ method: "POST", path: "/v1/operators/OP1/auth_keys", body: "" });
      created.authKey.forget();
    },
  );

  it("an AuthKey whose creation response is unreadable may exist", async () => {
    const { client } = await setup(201, { authKeyId: "k" });
    const refusal = await refusalOf(client.call(createAuthKey(of("createAuthKey"), owner), undefined));
    expect(refusal).toMatchObject({ code: "PLATFORM_RESPONSE_INVALID", mayHaveApplied: true });
  });
});

describe("Credential Sets", () => {
  const certificate = "-----BEGIN CERTIFICATE-----\r\nMIIB\r\n-----END CERTIFICATE-----\r\n";

  it("a Credential Set is updated with line feeds only, and its sent values are registered for scrubbing", async () => {
    const { platform, client } = await setup(200, { credentialsId: "a" });
    const credentials = { key: new Secret("k1\rk2"), cert: new Secret(certificate), ca: new Secret("plain") };
    await client.call(updateCredential(of("updateCredential")), { credentialsId: "a", type: "x509", credentials });
    const sent = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
    expect(platform.seen.at(-1)).toMatchObject({ method: "PUT", path: "/v1/credentials/a" });
    expect(JSON.parse(platform.seen.at(-1)?.body ?? "")).toEqual({
      type: "x509",
      credentials: { key: "k1\nk2", cert: sent, ca: "plain" },
    });
    expect(liveSecrets()).toContain(sent);
  });
});
