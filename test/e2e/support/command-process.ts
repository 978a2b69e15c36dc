/**
 * A process that runs commands of the built program one after another, each as `dist/cli.js` would, and sends back what
 * they wrote and their exit codes. It saves the start of a process for each command.
 *   node command-process.ts CLI
 */
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import type * as commandLine from "#command-line.ts";
import type { CommandRequest } from "./command-server.ts";
import type { Ended } from "./process.ts";

const place = join(dirname(process.argv[2] ?? ""), "command-line.js");
const { runCommandLine } = (await import(pathToFileURL(place).href)) as typeof commandLine;

async function run({ args, env, cwd }: CommandRequest): Promise<Ended> {
  // In place, since os.homedir() and libraries look at the environment of the process itself.
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.chdir(cwd);
  const ended = { code: 0, stdout: "", stderr: "" };
  await runCommandLine(args, {
    env: process.env,
    stdout: { write: (text) => (ended.stdout += text) },
    stderr: { write: (text) => (ended.stderr += text) },
    stdin: Readable.from([]) as NodeJS.ReadStream,
    interrupt: new AbortController().signal,
    setExitCode: (code) => {
      ended.code = code;
    },
  });
  return ended;
}

process.on("message", (request: CommandRequest) => void run(request).then((ended) => process.send?.(ended)));
process.on("disconnect", () => process.exit());
