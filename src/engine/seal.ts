/**
 * Encrypts secrets that must survive a crash before they are stored in Redis: JSON Web Encryption (`dir`, A256GCM) with
 * a key from a file that Redis never sees. Each ciphertext is bound to its purpose, so it cannot be decrypted for
 * another one. Only the keys stay in memory; callers of `open` must forget the decrypted secrets.
 */
import { createHash } from "node:crypto";
import { CompactEncrypt, type CompactJWEHeaderParameters, compactDecrypt } from "jose";
import { SimfleetError } from "#core/errors.ts";
import { Secret } from "#core/secrets/secret.ts";

export type SealedFields = Readonly<Record<string, Secret>>;

export type Seal = ReturnType<typeof openSeal>;

/** @param keys base64url text of 32 bytes each; the previous key only decrypts */
export function openSeal(keys: { readonly key: Secret; readonly previousKey: Secret | undefined }) {
  const key = keyOf(keys.key);
  const all = keys.previousKey === undefined ? [key] : [key, keyOf(keys.previousKey)];
  return {
    /** @param purpose what the secrets are for, such as a rotation's id; decryption needs the same purpose */
    seal(purpose: string, fields: SealedFields): Promise<string> {
      const clear = Object.fromEntries(Object.entries(fields).map(([name, secret]) => [name, secret.reveal()]));
      return new CompactEncrypt(Buffer.from(JSON.stringify(clear)))
        .setProtectedHeader({ alg: "dir", enc: "A256GCM", kid: key.id, sub: purpose })
        .encrypt(key.bytes);
    },

    /** @throws SimfleetError SEAL_DECRYPTION_FAILED if neither key decrypts it, or it was sealed for another purpose */
    async open(purpose: string, sealed: string): Promise<SealedFields> {
      const keyOfHeader = ({ sub, kid }: CompactJWEHeaderParameters): Uint8Array => {
        if (sub !== purpose) throw unopened(`the encrypted secret of ${purpose} belongs to something else`);
        const found = all.find(({ id }) => id === kid);
        if (found !== undefined) return found.bytes;
        throw unopened(
          `the encrypted secret of ${purpose} was sealed with another key than that of seal.keyFile: set seal.previousKeyFile to the previous key's file`,
        );
      };
      try {
        const { plaintext } = await compactDecrypt(sealed, keyOfHeader, {
          keyManagementAlgorithms: ["dir"],
          contentEncryptionAlgorithms: ["A256GCM"],
        });
        const clear = JSON.parse(Buffer.from(plaintext).toString()) as Record<string, string>;
        return Object.fromEntries(Object.entries(clear).map(([name, value]) => [name, new Secret(value)]));
      } catch (thrown) {
        // No `cause`: the parser's error would contain a piece of the secret.
        throw thrown instanceof SimfleetError ? thrown : unopened(`the encrypted secret of ${purpose} is damaged`);
      }
    },
  };
}

function unopened(message: string): SimfleetError {
  return new SimfleetError("SEAL_DECRYPTION_FAILED", message);
}

/** The id distinguishes keys without revealing anything about them. */
function keyOf(secret: Secret) {
  const bytes = Buffer.from(secret.reveal(), "base64url");
  const id = createHash("sha256").update("simfleet seal").update(bytes).digest("base64url").slice(0, 12);
  return { id, bytes: new Uint8Array(bytes) };
}
