import { describe, expect, it } from "vitest";
import { SimfleetError } from "#core/errors.ts";
import { Secret } from "#core/secrets/secret.ts";
import { openSeal, type SealedFields } from "#engine/seal.ts";

function key(fill: number): Secret {
  return new Secret(Buffer.alloc(32, fill).toString("base64url"));
}

function clear(fields: SealedFields): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, secret]) => [name, secret.reveal()]));
}

async function refusalOf(opening: Promise<unknown>): Promise<string> {
  const thrown: unknown = await opening.catch((error: unknown) => error);
  if (!(thrown instanceof SimfleetError)) throw new Error("no refusal");
  return `${thrown.code} ${thrown.message} ${String(thrown.cause)}`;
}

const fields = { key: new Secret("canary-of-the-seal"), cert: new Secret("line\nline ü") };

describe("the seal", () => {
  it("a seal returns the sealed values and reveals nothing of them", async () => {
    const seal = openSeal({ key: key(1), previousKey: undefined });
    const sealed = await seal.seal("r-1", fields);
    expect(sealed).not.toContain("canary");
    expect(Buffer.from(sealed.split(".").join(""), "base64url").toString("latin1")).not.toContain("canary");
    expect(clear(await seal.open("r-1", sealed))).toEqual({ key: "canary-of-the-seal", cert: "line\nline ü" });
    expect(await seal.seal("r-1", fields)).not.toBe(sealed);
  });

  it("a seal opens with the previous key while the new key seals", async () => {
    const sealed = await openSeal({ key: key(1), previousKey: undefined }).seal("r-1", fields);
    const changed = openSeal({ key: key(2), previousKey: key(1) });
    expect(clear(await changed.open("r-1", sealed))).toEqual(clear(fields));
    const again = await changed.seal("r-1", fields);
    expect(clear(await openSeal({ key: key(2), previousKey: undefined }).open("r-1", again))).toEqual(clear(fields));
  });

  it("a seal that no key opens is reported with the setting to change", async () => {
    const sealed = await openSeal({ key: key(1), previousKey: undefined }).seal("r-1", fields);
    const other = openSeal({ key: key(2), previousKey: key(3) });
    expect(await refusalOf(other.open("r-1", sealed))).toMatch(
      /^SEAL_DECRYPTION_FAILED .*seal.previousKeyFile to the previous key's file undefined$/,
    );
  });

  it("a seal does not open for another purpose or with a modified byte", async () => {
    const seal = openSeal({ key: key(1), previousKey: undefined });
    const sealed = await seal.seal("r-1", fields);
    expect(await refusalOf(seal.open("r-2", sealed))).toContain("belongs to something else");
    const at = sealed.lastIndexOf(".") - 5;
    const spoiled = sealed.slice(0, at) + (sealed[at] === "A" ? "B" : "A") + sealed.slice(at + 1);
    expect(await refusalOf(seal.open("r-1", spoiled))).toContain("is damaged");
    expect(await refusalOf(seal.open("r-1", "rubbish"))).toContain("is damaged");
  });
});
