/** Records the commands that a connection sends to Redis. */
import type { Redis } from "ioredis";

/** Names of the commands that the connection sends from now on, in lower case. */
export function commandsOf(redis: Redis): string[] {
  const names: string[] = [];
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (command, stream) => {
    names.push(command.name.toLowerCase());
    return send(command, stream);
  };
  return names;
}
