/** Configurations as tests write them, and their problems as lines. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "#config/config.ts";
import { type ReadOf, type Section, sectionOf, sectionsOf } from "#config/feature-section.ts";
import type { Environment } from "#config/read-settings.ts";
import { type ConfigSource, loadConfig as loadWith } from "#config/load.ts";
import { schemaWith } from "#config/schema.ts";
import { ConfigError } from "#core/errors.ts";
import { features } from "#features.ts";

const folder = mkdtempSync(join(tmpdir(), "simfleet-config-"));
let files = 0;
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

/** Writes a file of its own. @returns the path */
export function fileOf(content: string | Buffer, mode = 0o600): string {
  const path = join(folder, `${(files += 1)}`);
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

const sections = await sectionsOf(features);
export const configSchema = schemaWith(sections);
export const loadConfig = (source: ConfigSource): Config => loadWith({ sections, ...source });

export function load(yaml: string, env: Environment = {}): Config {
  return loadConfig({ file: fileOf(yaml), env });
}

/** Loads a section as its feature gets it. */
export function reading<S extends Section>(section: S) {
  return (yaml: string, env?: Environment): ReadOf<S> => sectionOf(load(yaml, env), section);
}

export function problemsOf(yaml: string, env?: Environment): string[] {
  return problemsIn(() => load(yaml, env));
}

/** The problems that something reports, each as `where: message`. */
export function problemsIn(run: () => unknown): string[] {
  try {
    run();
    return [];
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
    return thrown.problems.map(({ where, message }) => `${where}: ${message}`);
  }
}
