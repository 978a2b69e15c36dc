/** `simfleet events …`: the event feed. */
import { Command } from "@commander-js/extra-typings";
import type { Context } from "#cli/context.ts";
import { tailCommand } from "./tail.ts";

export function eventsCommand(context: Context): Command {
  return new Command("events").addCommand(tailCommand(context));
}
