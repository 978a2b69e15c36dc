/**
 * The export of the usage of a whole account: the calls that make it, and the file. That lies on another host, at an
 * address that works without credentials: it is neither stored nor shown, no redirect is followed, and the host has to
 * be among those of the platform definition. The address is checked as the connection is made (webhook-address.ts).
 */
import type { LookupFunction } from "node:net";
import type { Readable } from "node:stream";
import { z } from "zod";
import { describedOperation } from "#api/operations/described.ts";
import { IntakeError, SimfleetError, codeOf } from "#core/errors.ts";
import { isLoopback } from "#core/loopback.ts";
import type { OutgoingProxy } from "#core/proxy.ts";
import { minuteMs, secondMs } from "#core/time.ts";
import { AddressRefused } from "#events/webhook/webhook-address.ts";
import { assertReach, guardedAgent } from "#events/webhook/webhook.ts";

/** From and to in epoch seconds. */
type UsageExport = Readonly<{ operatorId: string; period: "day" | "month"; from: number; to: number }>;

/** A call that may be repeated: a second export is as good as the first. */
export const exportUsage = describedOperation("exportUsage", {
  fillings: { operatorId: ({ operatorId }: UsageExport) => operatorId },
  query: () => ({ export_mode: "async" }),
  body: ({ from, to, period }) => ({ from, to, period }),
  output: z.looseObject({ exportedFileId: z.string().min(1) }),
});

export const getExportedFile = describedOperation("getExportedFile", {
  fillings: { exportedFileId: ({ id }: { readonly id: string }) => id },
  output: z.looseObject({ status: z.enum(["processing", "exported", "failed"]), url: z.string().nullish() }),
});

export interface DownloadOptions {
  readonly hosts: readonly string[];
  /** Whether the platform is on this machine, as the sandbox: only then its files may be. */
  readonly isLocal: boolean;
  readonly proxy: OutgoingProxy | undefined;
  readonly userAgent: string;
  readonly signal: AbortSignal;
  /** Resolves host names; the system's lookup by default. */
  readonly lookup?: LookupFunction;
}

const maxMs = 30 * minuteMs;
const idleMs = 30 * secondMs;

/**
 * Downloads an exported file.
 * @param read reads the file while it arrives
 * @throws IntakeError if it cannot be downloaded; what `read` throws
 */
export async function download<T>(
  address: string,
  { hosts, isLocal, proxy, userAgent, lookup, signal }: DownloadOptions,
  read: (file: Readable) => Promise<T>,
): Promise<T> {
  const url = allowedUrl(address, { hosts, isLocal });
  const agent = await guardedAgent("public", lookup, proxy);
  try {
    if (proxy !== undefined) await assertReach(url.hostname, "public", lookup);
    const answer = await agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: "GET",
      headers: { "user-agent": userAgent, accept: "text/csv" },
      headersTimeout: idleMs,
      bodyTimeout: idleMs,
      signal: AbortSignal.any([signal, AbortSignal.timeout(maxMs)]),
    });
    answer.body.on("error", () => undefined);
    if (answer.statusCode !== 200) throw refused(`its host answered with ${answer.statusCode}`);
    return await read(answer.body);
  } catch (thrown) {
    if (signal.aborted || thrown instanceof SimfleetError) throw thrown;
    // Only the code of the error, whose text may have the address.
    const code = codeOf(thrown) ?? "the connection failed";
    throw refused(thrown instanceof AddressRefused ? thrown.message.replace(/;.*/, "") : code);
  } finally {
    await agent.destroy();
  }
}

/** @throws IntakeError if nothing may be read from there; the address is not quoted */
function allowedUrl(address: string, { hosts, isLocal }: Pick<DownloadOptions, "hosts" | "isLocal">): URL {
  const url = URL.parse(address);
  if (url === null || url.username !== "" || url.password !== "") throw refused("its address is not valid");
  const { hostname, protocol } = url;
  const isHere = isLoopback(hostname);
  if (isHere && !isLocal) throw refused("its address leads to this machine");
  if (protocol !== "https:" && !(isHere && protocol === "http:")) throw refused("its address is not https");
  if (hosts.some((host) => hostname === host || hostname.endsWith(`.${host}`))) return url;
  throw refused(
    `${hostname} is not among downloads.hosts of the platform definition. Add it if it belongs to the platform`,
  );
}

function refused(why: string): IntakeError {
  return new IntakeError(`The export cannot be downloaded: ${why}.`);
}
