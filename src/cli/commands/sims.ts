/** `simfleet sims …`: the inventory. */
import { Command } from "@commander-js/extra-typings";
import { SimfleetError } from "#core/errors.ts";
import { type Context, withCommon } from "../context.ts";
import { duration, grouped } from "../output.ts";

export function simsCommand(context: Context): Command {
  return new Command("sims")
    .description("the inventory: the SIMs as they were last seen")
    .addCommand(syncCommand(context))
    .addCommand(showCommand(context));
}

function syncCommand(context: Context): Command {
  const command = new Command("sync").description("read the whole fleet at the quota's speed and keep it");
  return withCommon(command, "simfleet sims sync").action(async (options) => {
    const output = context.output(options);
    const config = context.config(options);
    await context.withApp(config, async (app) => {
      const state = await app.syncInventory(config.profile, {
        signal: context.surroundings.interrupt,
        onPage: ({ sims, pages }) => {
          if (output.isLive) output.live(`${grouped(sims)} SIMs, ${grouped(pages)} pages`);
        },
      });
      output.clearLiveLine();
      const tookMs = (state.finishedAtMs ?? state.startedAtMs) - state.startedAtMs;
      output.answer(
        { profile: config.profile, sims: state.sims, pages: state.pages, seconds: tookMs / 1_000 },
        () =>
          `${grouped(state.sims)} SIMs on ${grouped(state.pages)} ${state.pages === 1 ? "page" : "pages"} in ${duration(tookMs)}`,
      );
    });
  });
}

function showCommand(context: Context): Command {
  const command = new Command("show").description("one SIM as it was last seen").argument("<sim>", "SIM ID, or IMSI");
  return withCommon(command, "simfleet sims show 8942310022000012345").action(async (key, options) => {
    const output = context.output(options);
    const config = context.config(options);
    await context.withApp(config, async (app) => {
      const known = await app.inventory.sim(config.profile, key);
      if (known === undefined) {
        throw new SimfleetError("USAGE", `${key} is not in the inventory: simfleet sims sync reads the fleet`);
      }
      const { speedClass = null, seenAtMs, seenBy } = known;
      const seenAt = new Date(seenAtMs).toISOString();
      output.answer({ sim: key, speedClass, seenAt, seenBy }, () => {
        const by = seenBy === "sync" ? "in a sync" : "in the answer to a run's change";
        return `${key}  ${speedClass ?? "no speed class"}, seen ${seenAt} ${by}`;
      });
    });
  }) as unknown as Command;
}
