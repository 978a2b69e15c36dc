/** Who gets in, what stays where, and what a role may do; all in a real browser. */
import { expect, it } from "vitest";
import { press, signIn } from "./support/browser.ts";
import { tokens } from "./support/fixtures.ts";
import { describeInBrowser, WebHarness } from "./support/harness.ts";

let harness: WebHarness;

interface Kept {
  readonly session: string | null;
  readonly local: string | null;
}
const kept = `({ session: sessionStorage.getItem("simfleet.token"), local: localStorage.getItem("simfleet.token") })`;

const secretFile = { name: "x", mimeType: "text/plain", buffer: Buffer.from("canary\nsecond\n") };

async function setup(path: string, token?: string, width = 1280) {
  return harness.open(path, { width, ...(token && { token }) });
}

/** The Credential Sets, and all that the page and the responses to it have shown. */
async function setupCredentials() {
  const { page } = await setup("/", tokens.admin);
  const answers: Promise<string>[] = [];
  page.on("response", (response) => {
    if (response.url().includes("/v1/credentials")) answers.push(response.text().catch(() => ""));
  });
  await page.goto("/#/credentials");
  const shown = async () => `${await page.content()}${(await Promise.all(answers)).join("")}`;
  return { page, credentials: harness.cli.sandbox.state.credentials, shown };
}

describeInBrowser(
  "dashboard sign-in",
  async () => (harness = await WebHarness.open()),
  () => {
    // Shows S17.
    it("sign-in leads to the requested page and keeps the token only in the tab", async () => {
      const { page } = await setup("/#/quota");
      const addresses: string[] = [];
      page.on("request", (request) => addresses.push(request.url()));
      await signIn(page, "sf_no-user-has-this-one");
      await page.getByRole("alert").waitFor();
      await page.getByLabel("Token", { exact: true }).fill(tokens.viewer);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Quota", level: 1 }).waitFor();
      expect(await page.title()).toBe("Quota · simfleet");
      expect(await page.evaluate<Kept>(kept)).toEqual({ session: tokens.viewer, local: null });
      await page.reload();
      await page.getByRole("heading", { name: "Quota", level: 1 }).waitFor();
      expect(addresses.filter((address) => address.includes("sf_"))).toEqual([]);
    });

    it("sign-in outlives the tab only on request and never the sign-out", async () => {
      const { page } = await setup("/", undefined, 360);
      await page.getByLabel("Keep me signed in on this device").check();
      await signIn(page, tokens.operator);
      await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
      expect(await page.evaluate<Kept>(kept)).toEqual({ session: tokens.operator, local: tokens.operator });
      await page.getByRole("button", { name: "Menu" }).click();
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
      expect(await page.evaluate<Kept>(kept)).toEqual({ session: null, local: null });
    });

    it("sign-in is required again when the token is refused and then returns to the same page", async () => {
      const { page } = await setup("/#/quota?from=here", tokens.viewer);
      await page.getByRole("heading", { name: "Quota", level: 1 }).waitFor();
      await page.route("**/v1/**", (route) => route.fulfill({ status: 401, body: "" }));
      await page.getByText("You were signed out").waitFor();
      expect(page.url()).toContain("#/quota?from=here");
      await page.unroute("**/v1/**");
      await signIn(page, tokens.viewer);
      await page.getByRole("heading", { name: "Quota", level: 1 }).waitFor();
    });

    it("the dashboard shows a viewer all data and the role that a button needs", async () => {
      const { page } = await setup("/#/sims", tokens.viewer);
      const sync = page.getByRole("button", { name: "Sync now" });
      expect(await sync.getAttribute("aria-disabled")).toBe("true");
      expect(await sync.getAttribute("title")).toBe("Requires the role operator; yours is viewer.");
      const posts: string[] = [];
      page.on("request", (request) => request.method() === "POST" && posts.push(request.url()));
      await sync.click({ force: true });
      await page.goto("/#/credentials");
      expect(await page.getByRole("button", { name: "Rotate mqtt" }).getAttribute("title")).toContain("role admin");
      expect(posts).toEqual([]);
    });

    it("an administrator creates a Credential Set whose secret is never shown", async () => {
      const { page, credentials, shown } = await setupCredentials();
      await page.locator("summary", { hasText: "Create a Credential Set" }).click();
      const create = page.getByRole("form", { name: "Create a Credential Set" });
      await create.getByLabel("ID", { exact: true }).fill("by-hand");
      await create.getByLabel("Secret", { exact: true }).fill("canary-first");
      expect(await create.getByLabel("Secret", { exact: true }).getAttribute("type")).toBe("password");
      await create.getByRole("button", { name: "Create" }).click();
      await page.getByRole("button", { name: "Replace the secret of by-hand" }).click();
      expect(credentials.secretOf("by-hand")).toEqual({ key: "canary-first" });
      expect(await shown()).not.toContain("canary");
    });

    it("an administrator replaces the secret of a Credential Set and deletes the set", async () => {
      harness.cli.sandbox.state.credentials.create("old-one", { type: "psk", credentials: { key: "canary-first" } });
      const { page, credentials, shown } = await setupCredentials();
      await page.getByRole("button", { name: "Replace the secret of old-one" }).click();
      const replace = page.getByRole("form", { name: "Replace the secret of old-one" });
      expect(await replace.getByLabel("Secret", { exact: true }).inputValue()).toBe("");
      await replace.getByLabel("Secret from a file").setInputFiles(secretFile);
      await press(page, "Replace", "Replace");
      await replace.waitFor({ state: "detached" });
      expect(credentials.secretOf("old-one")).toEqual({ key: "canary\nsecond" });
      await press(page, "Delete old-one", "Delete");
      await page.getByRole("button", { name: "Delete old-one" }).waitFor({ state: "detached" });
      expect(credentials.all.some(({ credentialsId }) => credentialsId === "old-one")).toBe(false);
      expect(await shown()).not.toContain("canary");
    });

    it("the dashboard reports an unreachable worker and recovers by itself", async () => {
      const { page } = await setup("/#/quota", tokens.viewer);
      await page.getByText("Loading the quotas …").waitFor({ state: "detached" });
      await page.getByRole("heading", { name: "Quota", level: 1 }).waitFor();
      await page.route("**/v1/buckets", (route) => route.abort());
      await page.getByText("The worker is not responding.").waitFor();
      await page.unroute("**/v1/buckets");
      await page.getByText("The worker is not responding.").waitFor({ state: "detached" });
    });
  },
);
