/** `simfleet credentials confirm`: a person confirms that nothing references the old set any more. */
import { Command } from "@commander-js/extra-typings";
import type { RotationReport } from "#jobs/credentials/report.ts";
import { type Context, withCommon } from "../../context.ts";
import { rotationStatusText } from "../../rotation-text.ts";

export function confirmCommand(context: Context): Command {
  const command = new Command("confirm")
    .description("confirm that nothing references the old set any more; its grace period then starts")
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
      output.say(`No worker is running: run simfleet worker, or resume with simfleet credentials rotate ${name}`);
    }
  }) as unknown as Command;
}
