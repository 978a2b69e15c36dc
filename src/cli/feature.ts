/**
 * A feature: everything that it adds to simfleet, in one value. It opens itself on the kernel, the command line adds
 * its commands, and the loader reads its section of the configuration. src/features.ts lists all of them.
 */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import type { ReadOf, Section } from "#config/feature-section.ts";
import { addEvents } from "#events/event.ts";
import type { AppFeature, Check, MaybeLater, Needs, Opened, Services } from "#kernel/feature.ts";
import type { Kernel } from "#kernel/kernel.ts";
import type { Context, StoreUse } from "./context.ts";

/** The headings of the help, in its order. */
export const commandGroups = {
  start: "Get started:",
  change: "Change SIMs:",
  fleet: "See the fleet:",
  secrets: "Rotate secrets:",
  automate: "Automate:",
  follow: "Follow what happens:",
  operate: "Operate simfleet:",
} as const;

/** Last words of commands that change nothing. */
export const readingWords: ReadonlySet<string> = new Set(["list", "show", "status"]);

/** A command as the help lists it. The command itself is loaded when it is given. */
export interface FeatureCommand {
  readonly group: keyof typeof commandGroups;
  readonly summary: string;
  readonly load: (context: Context) => Promise<CommandUnknownOpts>;
}

export interface Feature<Service = unknown> extends AppFeature<Service> {
  /** Commands by their first word, in the order of the help. */
  readonly commands?: Readonly<Record<string, FeatureCommand>>;
  /** Words of commands that change nothing, besides those that end in one of `readingWords`. All others are audited. */
  readonly reads?: readonly string[];
  /** Commands whose target is the selected profile if no argument names another. */
  readonly ofProfile?: readonly string[];
  /** Handling of a missing embedded Redis, by command. Defaults to `configured`. */
  readonly stores?: Readonly<Record<string, StoreUse>>;
}

// oxlint-disable-next-line typescript/no-explicit-any -- a list has features with services of any type
export type AnyFeature = Feature<any>;

/** Declares a feature and its events; `open` gets the services of its `needs`, and its `section` as read. */
export function feature<Service, N extends Needs = Readonly<Record<string, never>>, S extends Section = Section>(
  declared: Omit<Feature<Service>, "needs" | "open" | "section" | "kept" | "checks"> & {
    readonly needs?: N;
    readonly section?: () => Promise<S>;
    readonly kept?: (config: Kernel["config"], section: ReadOf<S>) => Readonly<Record<string, number>>;
    readonly checks?: (section: ReadOf<S>) => MaybeLater<readonly Check[]>;
    readonly open: (kernel: Kernel, needs: Services<N>, section: ReadOf<S>) => MaybeLater<Opened<Service>>;
  },
): Feature<Service> {
  addEvents(declared.events ?? {});
  return declared;
}
