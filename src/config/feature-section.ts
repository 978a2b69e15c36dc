/** The sections of features: how each is written, and what becomes of it. A worker reloads them without a restart. */
import type { z } from "zod";
import type { Wording } from "#fleet/sim/sim.ts";
import type { Deployment } from "./deployment.ts";
import type { Report } from "./report.ts";

/** A section of the file that belongs to one feature: a group of settings, or entries by name. */
export interface Section {
  readonly key: string;
  readonly schema: z.ZodType;
  /** Checks what is written, and makes of it what the feature uses; absent: the feature uses it as it is written. */
  readonly read?: (written: never, known: Known, report: Report) => unknown;
  /** Whether two processes compare it as it is read, since it depends on other settings. Default: as it is written. */
  readonly isHashedAsRead?: true;
}

/** The type that `sectionOf` returns. */
export type ReadOf<S extends Section> = S extends { readonly read: (...from: never[]) => infer Read }
  ? Read
  : z.output<S["schema"]>;

/** Names and facts that a section can refer to. */
export interface Known {
  /** The names of all profiles. */
  readonly profiles: readonly string[];
  /** The profile where none is named. */
  readonly selected: string;
  readonly deployment: Deployment;
  /** Fields of the SIMs of a profile that the inventory keeps, their key among them. */
  readonly fieldsOf: (profile: string) => readonly string[];
  /** The wording by which a profile uses the operations of the platform definition. */
  readonly wordingOf: (profile: string) => Wording;
  /** Sections of features that come before in the list, by key. */
  readonly sections: Readonly<Record<string, unknown>>;
}

/** The sections of features, in their order. */
export async function sectionsOf(
  features: readonly { readonly section?: () => Promise<Section> }[],
): Promise<readonly Section[]> {
  return Promise.all(features.flatMap(({ section: load }) => load?.() ?? []));
}

/** A feature's section of a configuration that was loaded with it. */
export function sectionOf<S extends Section>({ sections }: Pick<Known, "sections">, { key }: S): ReadOf<S> {
  return sections[key] as ReadOf<S>;
}
