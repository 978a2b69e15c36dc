/** `simfleet credentials confirm`: a person's word that nothing names the old set any more. */
import { Command } from "@commander-js/extra-typings";
import type { RotationReport } from "#jobs/credentials/report.ts";
import { type Context, withCommon } from "../../context.ts";
import { rotationStatusText } from "../../rotation-text.ts";

export function confirmCommand(context: Context): Command {
  const command = new Command("confirm")
    .description("say that everything that named the old set names the new one; its grace then begins")
    .argument("<name>", "name of the rotation in the configuration");
  return withCommon(command, "simfleet credentials confirm mqtt-psk").action(async (name, options) => {
    const output = context.output(options);
    const path = `/v1/rotations/${encodeURIComponent(name)}/confirm`;
    const { report, isServed } = await context.ask(options, {
      here: async ({ credentials }) => {
        const confirmed = await credentials.confirm(name, context.actor);
        return { report: confirmed, isServed: await credentials.isServed(confirmed.profile) };
      },
      there: async (worker) => ({ report: await worker.post<RotationReport>(path), isServed: true }),
    });
    output.answer(report, (shown) => rotationStatusText(shown));
    if (!isServed) {
      output.say(`No worker is up: run simfleet worker, or go on with simfleet credentials rotate ${name}`);
    }
  }) as unknown as Command;
}
