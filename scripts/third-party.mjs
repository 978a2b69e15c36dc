// What the built program contains of others: build.mjs writes their licenses into dist/THIRD-PARTY-NOTICES.txt, and
// their names and versions into dist/third-party.json, which supply-chain.ts reads.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { licensesFile } from "./program.mjs";

const introduction = `simfleet contains the following packages. Each is followed by its license.
`;

/** Swagger UI is a part of @fastify/swagger-ui, and not a package of its own. */
const swaggerUi = `The files of dist/api-page are Swagger UI, Copyright SmartBear Software Inc., under the Apache License 2.0, whose text is
in the file LICENSE.
`;

/**
 * Writes both files.
 * @param dist the built program
 * @param bundles folders of `dist` in which Vite listed what it bundled; the lists are removed
 * @param copied names of packages of which files were copied
 * @param packages folder of all packages
 */
export function writeThirdParty(dist, { bundles, copied, packages }) {
  const lists = bundles.map((folder) => join(folder, licensesFile));
  const bundled = lists.flatMap((list) => JSON.parse(readFileSync(list, "utf8")));
  for (const list of lists) rmSync(list);
  const found = new Map(
    [...bundled, ...copied.map((name) => licenseOf(join(packages, name)))].map((one) => [
      `${one.name}@${one.version}`,
      one,
    ]),
  );
  const sorted = [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const list = sorted.map(({ name, version, identifier }) => ({ name, version, license: identifier }));
  writeFileSync(join(dist, "third-party.json"), `${JSON.stringify(list, undefined, 2)}\n`);
  const notices = [introduction, ...sorted.map((one) => noticeOf(one, packages)), swaggerUi];
  writeFileSync(join(dist, "THIRD-PARTY-NOTICES.txt"), notices.join(`\n${"-".repeat(80)}\n\n`));
}

function licenseOf(folder) {
  const { name, version, license } = manifestOf(folder);
  return { name, version, identifier: license };
}

function manifestOf(folder) {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

/** A package without a license file states its license and its author in its package.json alone. */
function noticeOf({ name, version, identifier, text }, packages) {
  const head = `${name} ${version}\nLicense: ${identifier}\n`;
  if (text) return `${head}\n${text.trim()}\n`;
  const { author } = manifestOf(join(packages, name));
  return author === undefined ? head : `${head}Author: ${author.name ?? author}\n`;
}
