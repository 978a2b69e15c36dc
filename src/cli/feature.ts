/**
 * A feature: everything that it adds to simfleet, in one value. The server mounts its routes, a worker starts its
 * work, the command line adds its commands, and the loader reads its section of the configuration. src/features.ts lists all of them.
 */
import type { Command } from "@commander-js/extra-typings";
import type { AppFeature } from "#app/feature.ts";
import type { FeatureSection } from "#config/setting.ts";
import type { CommandEffect, StoreUse } from "./command-effects.ts";
import type { Context } from "./context.ts";

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

type CommandGroup = keyof typeof commandGroups;

/** A command as the help lists it. The command itself is loaded when it is given. */
export interface FeatureCommand {
  /** Its heading in the help. */
  readonly group: CommandGroup;
  readonly summary: string;
  readonly load: (context: Context) => Promise<Command>;
}

export interface Feature extends AppFeature, FeatureSection {
  readonly name: string;
  /** Its commands by their first word, in the order of the help. */
  readonly commands?: Readonly<Record<string, FeatureCommand>>;
  /** What each command changes, by its words; the audit log needs it. */
  readonly effects?: Readonly<Record<string, CommandEffect>>;
  /** What a command does where there is no data yet, by its words, if it is not `configured`. */
  readonly stores?: Readonly<Record<string, StoreUse>>;
}
