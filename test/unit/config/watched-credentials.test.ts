import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { loadConfig } from "#config/load.ts";
import type { Environment } from "#config/read-settings.ts";
import { watchCredentials } from "#config/secrets/credentials.ts";
import { liveSecrets } from "#core/secrets/secret.ts";
import { authKeyFileText } from "../../support/auth-key-file.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

function put(path: string, text: string, mode = 0o600): void {
  writeFileSync(path, text, { mode });
  chmodSync(path, mode);
}

/** Mounts a secret with this AuthKey into a folder, or replaces it, as Kubernetes does. */
function mount(folder: string, name: string): void {
  mkdirSync(join(folder, `..2026_${name}`));
  put(join(folder, `..2026_${name}`, "auth-key"), textOf(name));
  symlinkSync(`..2026_${name}`, join(folder, "..data_tmp"));
  renameSync(join(folder, "..data_tmp"), join(folder, "..data"));
}

function textOf(name: string): string {
  return authKeyFileText({ authKeyId: `keyId-${name}`, authKey: `secret-${name}` });
}

/** Watched credentials whose first AuthKey lies in a file. */
function setup() {
  const path = join(temporaryFolder(), "auth-key");
  put(path, textOf("a"));
  const watched = watchedWith({ SIMFLEET_AUTH_KEY_FILE: path });
  /** Puts another AuthKey into the file, which is then looked at. */
  const change = (name: string): void => {
    writeFileSync(path, textOf(name), { mode: 0o600 });
    watched.all.poll();
  };
  return { path, change, ...watched };
}

function watchedWith(env: Environment) {
  const { profiles } = loadConfig({ env });
  if (profiles["default"] === undefined) throw new Error("no default profile");
  const kept: string[] = [];
  const listener = { reloaded: () => undefined, kept: (reason: string) => void kept.push(reason) };
  const all = watchCredentials(profiles["default"], listener);
  onTestFinished(() => all.stop());
  const ids = (): string[] => all.forms().map((form) => (form.kind === "auth-key" ? form.authKeyId : form.kind));
  return { all, kept, ids };
}

// Shows S3.
describe("a watched secret file", () => {
  it("a secret file is reloaded when it is overwritten, or another is renamed over it", () => {
    const { path, ids, all, change } = setup();
    change("b");
    expect(ids()[0]).toBe("keyId-b");
    expect(liveSecrets()).toContain("secret-b");
    put(`${path}.new`, textOf("c"));
    renameSync(`${path}.new`, path);
    all.poll();
    expect(ids()[0]).toBe("keyId-c");
  });

  it("the credentials before stay behind those of a secret file until these have been seen to be good", () => {
    const { ids, all, change } = setup();
    change("b");
    expect(ids()).toEqual(["keyId-b", "keyId-a"]);
    const [form] = all.forms();
    if (form !== undefined) all.proven(form);
    expect(ids()).toEqual(["keyId-b"]);
  });

  it("a secret file is reloaded when the link of a mounted secret is switched", () => {
    const folder = temporaryFolder();
    mount(folder, "a");
    symlinkSync("..data/auth-key", join(folder, "auth-key"));
    const { all, ids } = watchedWith({ SIMFLEET_AUTH_KEY_FILE: join(folder, "auth-key") });
    expect(ids()).toEqual(["keyId-a"]);
    for (const name of ["b", "c"]) {
      mount(folder, name);
      all.poll();
      expect(ids()[0]).toBe(`keyId-${name}`);
    }
  });

  it("a secret file is looked at every second, and never after the watch stopped", () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { path, ids, all } = setup();
    writeFileSync(path, textOf("b"));
    vi.advanceTimersByTime(1_000);
    expect(ids()[0]).toBe("keyId-b");
    all.stop();
    writeFileSync(path, textOf("c"));
    vi.advanceTimersByTime(5_000);
    expect(ids()[0]).toBe("keyId-b");
  });
});

/** Watched credentials of a Root user, whose password and MFA secret lie in files. */
function setupRoot() {
  const folder = temporaryFolder();
  const [password, mfa] = [join(folder, "password"), join(folder, "mfa")];
  put(password, "password-a");
  put(mfa, "JBSWY3DPEHPK3PXP");
  const files = { SIMFLEET_PASSWORD_FILE: password, SIMFLEET_MFA_SECRET_FILE: mfa };
  const { all, kept } = watchedWith({ SIMFLEET_EMAIL: "root@example.com", ...files });
  const revealed = (): string[] =>
    all.forms().map((form) => (form.kind === "root" ? `${form.password.reveal()} ${form.mfaSecret?.reveal()}` : ""));
  return { password, mfa, all, kept, revealed };
}

it("the files of a password and of an MFA secret are watched as well", () => {
  const { password, mfa, all, kept, revealed } = setupRoot();
  writeFileSync(password, "password-b");
  all.poll();
  writeFileSync(mfa, "not base32!");
  all.poll();
  expect(revealed()).toEqual(["password-b JBSWY3DPEHPK3PXP", "password-a JBSWY3DPEHPK3PXP"]);
  expect(kept.join()).toMatch(/SIMFLEET_MFA_SECRET_FILE: must be base32/);
  expect(kept.join()).not.toContain("not base32!");
});

// Shows S3.
describe("an invalid secret file", () => {
  it.each<[string, (path: string) => void, RegExp]>([
    ["empty", (path) => writeFileSync(path, ""), /is empty/],
    ["cut", (path) => writeFileSync(path, textOf("b").slice(0, 20)), /must be text, or a JSON object/],
    ["readable by others", (path) => chmodSync(path, 0o644), /can be read by others.*chmod 600/],
    ["gone", (path) => rmSync(path), /There is no file/],
  ])("the old credentials stay in use when a secret file is %s", (_, spoil, reason) => {
    const { path, all, ids, kept, change } = setup();
    spoil(path);
    all.poll();
    expect(kept.join()).toMatch(reason);
    expect(kept.join()).not.toContain("secret-");
    expect(ids()).toEqual(["keyId-a"]);
    const reported = kept.length;
    all.poll();
    expect(kept.length).toBe(reported); // once, not with every look
    rmSync(path, { force: true });
    change("c");
    expect(ids()[0]).toBe("keyId-c");
  });

  it("an AuthKey that the platform never accepted is not kept as a fallback for the next", () => {
    const { ids, change } = setup();
    change("wrong");
    expect(ids()).toEqual(["keyId-wrong", "keyId-a"]);
    change("b");
    expect(ids()).toEqual(["keyId-b", "keyId-a"]);
    change("a");
    expect(ids()).toEqual(["keyId-a"]);
  });
});
