/** Tokens of the control API that are stored in Redis: valid at once, listed with their use, revoked at once. */
import { describe, expect, test } from "vitest";
import { ControlHarness } from "./support/control-harness.ts";
import { runCommand } from "./support/run-command.ts";
import { json } from "./support/run-requests.ts";

const harness = await ControlHarness.ofFile();

const run = (line: string, where: "local" | "remote" = "remote") => runCommand(harness, line.split(" "), where);
const statusWith = async (token: string, method = "GET", path = "/v1/runs"): Promise<number> => {
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`${harness.url}${path}`, { method, headers })).status;
};

describe.each(["local", "remote"] as const)("the %s command", (where) => {
  const create = async (name: string): Promise<string> => {
    const { code, stdout, stderr } = await run(`tokens create --name ${name} --role operator --expires 90d`, where);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^sf_[A-Za-z0-9_-]{43}\n$/)]);
    expect(stderr).toContain("not shown again");
    return stdout.trim();
  };

  test("makes a token that is valid at once, until it is revoked", async () => {
    const name = `ci-${where}`;
    const token = await create(name);
    expect(await statusWith(token)).toBe(200);
    expect(await statusWith(token, "GET", "/v1/audit")).toBe(403);
    const stdout = `Revoked the token of ${name}.\n`;
    expect(await run(`tokens revoke ${name}`, where)).toMatchObject({ code: 0, stdout });
    expect(await statusWith(token)).toBe(401);
  });

  test("lists a token with its use, and neither it nor Redis shows the token", async () => {
    const name = `listed-${where}`;
    const token = await create(name);
    await statusWith(token);
    const listed = (await run("tokens list --json", where)).stdout;
    const used = { name, role: "operator", origin: "stored", createdBy: expect.stringContaining(":") as string };
    const times = { expiresAt: expect.any(String) as string, lastUsedAt: expect.any(String) as string };
    expect(JSON.parse(listed)).toMatchObject({
      tokens: expect.arrayContaining([{ ...used, ...times, createdAt: expect.any(String) as string }]) as unknown,
    });
    const kept = JSON.stringify(await harness.redis().hgetall("{simfleet}:tokens"));
    expect(kept).toContain(name);
    expect(kept + listed).not.toContain(token);
  });
});

test("a token has an end, and a name of its own", async () => {
  const ask = (body: object) =>
    harness.ask("/v1/tokens", { as: "admin", method: "POST", body: JSON.stringify(body), headers: json });
  const soon = new Date(Date.now() + 1_000).toISOString();
  const { token } = (await (await ask({ name: "short", role: "viewer", expires: soon })).json()) as { token: string };
  await expect.poll(() => statusWith(token), { timeout: 10_000 }).toBe(401);
  expect((await ask({ name: "short", role: "viewer" })).status).toBe(400);
  expect((await ask({ name: "past", role: "viewer", expires: "2020-01-01T00:00:00Z" })).status).toBe(400);
  expect((await ask({ name: "a/b", role: "viewer" })).status).toBe(400);
  expect((await harness.ask("/v1/tokens", { as: "operator" })).status).toBe(403);
});

test("the tokens of the configuration are listed, and revoked there", async () => {
  const { stdout } = await run("tokens list");
  expect(stdout).toMatch(/viewer +viewer .* configuration/);
  const revoked = await run("tokens revoke viewer");
  expect([revoked.code, revoked.stderr]).toEqual([2, expect.stringContaining("http.tokens")]);
  expect((await run("tokens revoke nobody")).stderr).toContain("There is no token nobody");
});
