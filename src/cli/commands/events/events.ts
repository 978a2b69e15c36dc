/** `simfleet events …`: the event feed. */
import { Command } from "@commander-js/extra-typings";
import type { Context } from "../../context.ts";
import { tailCommand } from "./tail.ts";

export function eventsCommand(context: Context): Command {
  return new Command("events").description("what has happened, and what happens").addCommand(tailCommand(context));
}
