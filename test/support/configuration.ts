/** The configuration with the sections of all features, as processes read it. */
import type { Config } from "#config/config.ts";
import { sectionsOf } from "#config/feature-section.ts";
import * as load from "#config/load.ts";
import { schemaWith } from "#config/schema.ts";
import { features } from "#features.ts";

const sections = await sectionsOf(features);

export const configSchema = schemaWith(sections);

export const loadConfig = (source: load.ConfigSource): Config => load.loadConfig({ sections, ...source });
