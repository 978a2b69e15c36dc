/**
 * Runs commands for all test files, in processes that stay up between commands: as many processes as there are commands
 * at once. Most of what a command costs is the start of its process.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { BuiltCli } from "./built-cli.ts";

const script = fileURLToPath(new URL("./command-process.ts", import.meta.url));

export interface CommandRequest {
  readonly cli: BuiltCli;
  readonly args: readonly string[];
  /** The whole environment of the command. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** @returns what closes it */
export async function openCommandServer(socketPath: string): Promise<() => void> {
  const children = new Set<ChildProcess>();
  const idle: ChildProcess[] = [];
  const start = ({ path, compileCache }: BuiltCli): ChildProcess => {
    const env = { ...process.env, NODE_COMPILE_CACHE: compileCache };
    const child = fork(script, [path], { execArgv: [], env, stdio: ["ignore", "pipe", "pipe", "ipc"] });
    children.add(child);
    return child;
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const command = JSON.parse(await text(request)) as CommandRequest;
    const child = idle.pop() ?? start(command.cli);
    const over = new AbortController();
    const { signal } = over;
    // Whoever asked has gone: a test has ended before its command.
    response.once("close", () => {
      if (!signal.aborted) child.kill("SIGKILL");
    });
    let written = "";
    const collect = (chunk: Buffer): void => {
      written += chunk.toString();
    };
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", collect);
    child.send(command);
    const [ended] = (await Promise.race([once(child, "message", { signal }), once(child, "exit", { signal })])) as [
      unknown,
    ];
    over.abort();
    for (const stream of [child.stdout, child.stderr]) stream?.off("data", collect);
    const isUp = ended !== null && typeof ended === "object";
    if (isUp) idle.push(child);
    else children.delete(child);
    // Nothing may pass by the streams that a command is given.
    const failure = isUp && written === "" ? undefined : `simfleet ${command.args.join(" ")} wrote or died: ${written}`;
    response.writeHead(failure === undefined ? 200 : 500).end(failure ?? JSON.stringify(ended));
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(socketPath);
  await once(server, "listening");
  return () => {
    server.close();
    for (const child of children) child.kill("SIGKILL");
  };
}
