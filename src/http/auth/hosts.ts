/**
 * Which `Host` headers are taken. A page of elsewhere can have its name resolve to this machine and then speak to a
 * worker on a loopback address as if it were its own; the name in the header gives it away.
 */
import { isLoopback } from "#core/loopback.ts";

/**
 * @param listening `hosts` are those that the configuration adds
 * @returns whether a request with this header is meant for us
 */
export function hostCheck(listening: {
  host: string;
  port: () => number;
  hosts: readonly string[];
}): (header: string | undefined) => boolean {
  const { host, port, hosts } = listening;
  const listed = new Set(hosts.map((name) => name.toLowerCase()));
  const takesAll = !isLoopback(host) && listed.size === 0;
  return (header) => {
    if (takesAll) return true;
    if (header === undefined) return false;
    const name = header.toLowerCase();
    if (listed.has(name)) return true;
    const url = URL.parse(`http://${name}`);
    if (url === null || url.pathname !== "/" || url.username !== "") return false;
    return isLoopback(url.hostname) && (url.port || "80") === String(port());
  };
}
