/**
 * Checks third-party code: writes the bill of materials of what the built program contains (CycloneDX, by npm's own
 * command) and checks it, the licenses, the install scripts, and the advisories known to the registry. `npm run
 * supply-chain [FILE]`; the bill is written to FILE, by default sbom.cdx.json. Exit code 1 if there are findings.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Component {
  readonly "bom-ref": string;
  readonly type: string;
  readonly name: string;
  readonly version?: string;
  readonly purl?: string;
  readonly licenses?: readonly {
    readonly license?: { readonly id?: string; readonly name?: string };
    readonly expression?: string;
  }[];
}

export interface Bill {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly serialNumber?: string;
  readonly version?: number;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
}

export interface LockedPackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
}

export interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/** A package that the built program contains, as in dist/third-party.json. */
export interface Shipped {
  readonly name: string;
  readonly version: string;
}

export interface Policy {
  /** License by SPDX id, and why it is allowed. */
  readonly allowedLicenses: Readonly<Record<string, string>>;
  /** `name@version` of a package with another license, and why it may be used. */
  readonly exceptions: Readonly<Record<string, string>>;
}

/** Name of a package from its path in the lock file. */
function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}

/** Problems of the bill itself: its form, its references, and packages of the program that it omits. */
export function faultsOfBill(bill: Bill, shipped: readonly Shipped[]): string[] {
  const faults: string[] = [];
  if (bill.bomFormat !== "CycloneDX") faults.push(`bomFormat is ${bill.bomFormat}`);
  if (!/^1\.[4-9]$/.test(bill.specVersion)) faults.push(`specVersion is ${bill.specVersion}`);
  if (!/^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(bill.serialNumber ?? "")) {
    faults.push(`serialNumber is ${bill.serialNumber ?? "missing"}`);
  }
  const refs = new Set([bill.metadata.component["bom-ref"]]);
  for (const component of bill.components) {
    const { "bom-ref": ref, type, name, version, purl } = component;
    if (refs.has(ref)) faults.push(`${ref} is listed twice`);
    refs.add(ref);
    const decoded = decodeURIComponent(purl ?? "").split("?", 1)[0];
    if (type !== "library" || version === undefined || decoded !== `pkg:npm/${name}@${version}`) {
      faults.push(`${ref} lacks its type, version or package URL`);
    }
  }
  for (const { ref, dependsOn = [] } of bill.dependencies) {
    for (const one of [ref, ...dependsOn]) if (!refs.has(one)) faults.push(`${one} is referred to and not listed`);
  }
  return [...faults, ...missingFrom(bill, shipped)];
}

function missingFrom(bill: Bill, shipped: readonly Shipped[]): string[] {
  const listed = new Set(bill.components.map(({ name, version }) => `${name}@${version}`));
  const ids = shipped.map(({ name, version }) => `${name}@${version}`);
  return ids.filter((id) => !listed.has(id)).map((id) => `${id} is missing from the bill`);
}

/** Licenses of the packages that are not allowed, and unused exceptions. */
export function faultsOfLicenses(bill: Bill, policy: Policy): string[] {
  const faults: string[] = [];
  const unused = new Set(Object.keys(policy.exceptions));
  for (const { name, version, licenses = [] } of bill.components) {
    const id = `${name}@${version}`;
    const names = licenses.map(({ license, expression }) => expression ?? license?.id ?? license?.name ?? "none");
    if (names.length > 0 && names.every((one) => isAllowed(one, policy))) continue;
    if (unused.delete(id)) continue;
    faults.push(`${id} has the license ${names.join(", ") || "none"}, which is not on the list of allowed ones`);
  }
  for (const id of unused) faults.push(`the exception for ${id} is needed no more`);
  return faults;
}

/** For alternatives (OR) one must be allowed; for a conjunction (AND) all. */
function isAllowed(expression: string, { allowedLicenses }: Policy): boolean {
  const bare = expression.replaceAll(/[()]/g, " ").trim();
  // A mixed expression needs a manual review.
  if (/ OR /.test(bare) && / AND /.test(bare)) return false;
  if (/ OR /.test(bare)) return bare.split(/ OR /).some((one) => Object.hasOwn(allowedLicenses, one.trim()));
  return bare.split(/ AND /).every((one) => Object.hasOwn(allowedLicenses, one.trim()));
}

/** Packages from other sources or without a digest, and install scripts without a decision. */
export function faultsOfLock(lock: Lock, allowScripts: Readonly<Record<string, boolean>>): string[] {
  const faults: string[] = [];
  for (const [path, { resolved, integrity, link, hasInstallScript }] of Object.entries(lock.packages)) {
    // What is not below node_modules belongs to this repository.
    if (!path.includes("node_modules/") || link === true) continue;
    const name = nameOf(path);
    // Without a URL it comes from the registry that npm is set to; the digest pins the content.
    if (resolved !== undefined && !resolved.startsWith("https://registry.npmjs.org/")) {
      faults.push(`${name} comes from ${resolved}`);
    }
    if (integrity?.startsWith("sha512-") !== true) faults.push(`${name} has no digest in the lock file`);
    if (hasInstallScript === true && allowScripts[name] === undefined) {
      faults.push(`${name} has an install script, and allowScripts in package.json does not name it`);
    }
  }
  return faults;
}

const severities = ["low", "moderate", "high", "critical"];

/**
 * The findings of `npm audit --json` about what the program contains that are high or critical.
 * @returns undefined if the registry did not respond
 */
export function faultsOfAudit(printed: string, shipped: readonly Shipped[]): string[] | undefined {
  const report = parse(printed) as
    | { vulnerabilities?: Record<string, { severity?: string; range?: string; via?: readonly unknown[] }> }
    | undefined;
  if (report?.vulnerabilities === undefined) return undefined;
  const names = new Set(shipped.map(({ name }) => name));
  return Object.entries(report.vulnerabilities).flatMap(([name, { severity = "", range = "", via = [] }]) => {
    if (!names.has(name)) return [];
    // An unknown severity counts as severe.
    if (severities.indexOf(severity) >= 0 && severities.indexOf(severity) < 2) return [];
    const titles = via.flatMap((one) => (one as { title?: string }).title ?? []);
    return [
      `${name} ${range} is ${severity || "of unknown severity"}${titles.length > 0 ? `: ${titles.join("; ")}` : ""}`,
    ];
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function npm(project: string, args: readonly string[]): { stdout: string; said: string } {
  const { stdout, stderr, error } = spawnSync("npm", args, {
    cwd: project,
    encoding: "utf8",
    timeout: 120_000,
    maxBuffer: 64 * 1_024 * 1_024,
  });
  return { stdout: stdout ?? "", said: error?.message ?? stderr.trim() };
}

/** The bill of all locked packages by npm's own command, reduced to those that the program contains. */
export function billOf(printed: string, shipped: readonly Shipped[]): Bill {
  const { metadata, components, dependencies, ...head } = JSON.parse(printed) as Bill;
  const ids = new Set(shipped.map(({ name, version }) => `${name}@${version}`));
  const contained = new Map(
    components
      .filter(({ name, version }) => ids.has(`${name}@${version}`))
      .map((component) => [component["bom-ref"], withoutProperties(component)]),
  );
  const root = metadata.component["bom-ref"];
  const between = dependencies
    .filter(({ ref }) => contained.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((one) => contained.has(one)) }));
  // The program is one file with all of them: none comes from another at an installation.
  return {
    ...head,
    metadata,
    components: [...contained.values()],
    dependencies: [{ ref: root, dependsOn: [...contained.keys()] }, ...between],
  };
}

/** npm marks packages as needed for development only, as bundled ones are installed, and where it found them. */
function withoutProperties(component: Component & { readonly properties?: unknown }): Component {
  const { properties: _, ...rest } = component;
  return rest;
}

function main(file: string): void {
  const project = fileURLToPath(new URL("..", import.meta.url));
  const read = (path: string): unknown => JSON.parse(readFileSync(join(project, path), "utf8"));
  const lock = read("package-lock.json") as Lock;
  if (!existsSync(join(project, "dist/third-party.json"))) throw new Error("dist/ is missing: run npm run build");
  const shipped = read("dist/third-party.json") as Shipped[];
  const manifest = read("package.json") as { allowScripts: Record<string, boolean> };
  const policy = read("scripts/supply-chain.json") as Policy;
  const { stdout, said } = npm(project, ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only"]);
  if (parse(stdout) === undefined) throw new Error(`npm sbom printed no bill of materials: ${said}`);
  const bill = billOf(stdout, shipped);
  writeFileSync(file, `${JSON.stringify(bill, undefined, 2)}\n`);
  const audit = npm(project, ["audit", "--json"]);
  const advisories = faultsOfAudit(audit.stdout, shipped);
  const packages = `${bill.components.length} packages`;
  const checks: readonly [string, readonly string[] | undefined, string][] = [
    ["bill of materials", faultsOfBill(bill, shipped), `${packages}, in ${file}`],
    ["licenses", faultsOfLicenses(bill, policy), `those of ${packages} are allowed`],
    [
      "lock file",
      faultsOfLock(lock, manifest.allowScripts),
      "every package has its digest, and no install script runs unasked",
    ],
    ["advisories", advisories, "none that is high or critical"],
  ];
  for (const [name, faults, fine] of checks) {
    if (faults === undefined) console.log(`${name}: not available, the registry gave no answer`);
    else if (faults.length === 0) console.log(`${name}: ${fine}`);
    else for (const fault of faults) console.error(`${name}: ${fault}`);
  }
  if (checks.some(([, faults]) => (faults?.length ?? 0) > 0)) process.exitCode = 1;
}

if (import.meta.main) main(process.argv[2] ?? "sbom.cdx.json");
