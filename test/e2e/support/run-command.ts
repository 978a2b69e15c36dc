/** Has the command server of this run of the tests run a command. */
import { once } from "node:events";
import { type IncomingMessage, request as ask } from "node:http";
import { text } from "node:stream/consumers";
import { inject } from "vitest";
import type { CommandRequest } from "./command-server.ts";
import type { Ended } from "./process.ts";

/** @param signal kills the process that runs the command */
export async function runCommand(command: CommandRequest, signal: AbortSignal): Promise<Ended> {
  // A new connection each time: the server may be closing one that was idle for some seconds.
  const asked = ask({ socketPath: inject("commandServer"), method: "POST", agent: false, signal });
  asked.end(JSON.stringify(command));
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  const answer = await text(response);
  if (response.statusCode !== 200) throw new Error(answer);
  return JSON.parse(answer) as Ended;
}
