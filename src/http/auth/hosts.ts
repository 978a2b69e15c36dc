/**
 * Checks the `Host` header of requests. With DNS rebinding, a foreign web page can make its own host name resolve to
 * this machine and call a worker on a loopback address. The header then contains the foreign name, and the request is
 * rejected.
 */
import { isLoopback } from "#core/loopback.ts";

/**
 * @param listening `hosts` are those that the configuration adds
 * @returns whether a `Host` header is accepted
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
