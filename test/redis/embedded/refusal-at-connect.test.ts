/** A Redis that refuses connections says why before it closes them. */
import { type AddressInfo, createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { RedisConnections } from "#redis/connection.ts";
import { verifyRedis } from "#redis/verify.ts";

/** A server that writes a line to each connection and closes it, as Redis does in protected mode or when it is full. */
async function refusing(line: string): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.end(line, () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

it("a command shows the text with which Redis refuses the connection", async () => {
  const port = await refusing("-DENIED Redis is running in protected mode because no password is set.\r\n");
  const connections = new RedisConnections({ host: "127.0.0.1", port });
  onTestFinished(() => connections.close());
  await expect(verifyRedis(connections)).rejects.toThrow(
    `Redis at 127.0.0.1:${port} refuses connections: Redis is running in protected mode because no password is set.`,
  );
});
