/** What docs/rotation.md shows works as it stands there. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { events } from "#jobs/credentials/events.ts";
import { rotationStates } from "#jobs/credentials/contract.ts";
import { sectionOf } from "#config/feature-section.ts";
import { rotationsSection } from "#jobs/credentials/config.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { load } from "../unit/config/support.ts";

const page = readFileSync("docs/rotation.md", "utf8");

it("the configuration in docs/rotation.md is valid", () => {
  const folder = temporaryFolder();
  const [, shown = ""] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  writeFileSync(join(folder, "seal-key"), "ab".repeat(32), { mode: 0o600 });
  writeFileSync(join(folder, "vault-hook"), `whsec_${"A".repeat(40)}`, { mode: 0o600 });
  const config = load(shown.replaceAll("/run/secrets", folder));
  const sinks = sectionOf(config, rotationsSection)["mqtt-psk"]?.sinks;
  expect(config.seal?.key).toBeDefined();
  expect(sinks?.flatMap((sink) => Object.keys(sink))).toEqual(["file", "command", "webhook"]);
});

it("docs/rotation.md names every credential event and only existing states", () => {
  const named = [...page.matchAll(/`(?:credential)?\.([a-z]+(?:-[a-z]+)?)`/g)].map(([, name]) => `credential.${name}`);
  const reported = Object.keys(events);
  expect([...new Set(named)].sort()).toEqual(reported.toSorted());
  const [, table = ""] = /\| state .*\n\|[ -|]*\n([\s\S]*?)\n\n/.exec(page) ?? [];
  const states = [...table.matchAll(/^\| `([a-z-]+)`/gm)].map(([, state = ""]) => state);
  expect(states.length).toBeGreaterThan(4);
  expect(states.filter((state) => !rotationStates.some((known) => known === state))).toEqual([]);
});
