/**
 * What SIMs use, and its exports. A SIM uses data at a rate that depends on the seed and its place alone, so usage
 * grows with the clock and an export can be repeated. An export has a state, and its file is computed while it is sent.
 */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { SandboxOptions } from "../options.ts";
import { Refusal } from "../refusals.ts";
import { seededShare } from "../seeded.ts";
import { dayMs, firstCreatedMs } from "./sim-records.ts";
import type { Sims } from "./sims.ts";

const columns =
  "imsi,date,type,uploadByteSizeTotal,uploadPacketCountTotal,downloadByteSizeTotal,downloadPacketCountTotal,tag_name";

const order = z.object({ from: z.int().min(0), to: z.int(), period: z.enum(["month", "day"]) });

interface UsageExport extends Readonly<z.infer<typeof order>> {
  readonly readyAtMs: number;
  readonly hasFailed: boolean;
  readonly signature: string;
}

export function usageExports(options: SandboxOptions, sims: Sims) {
  const { clock, exportMs, exportFailures, seed } = options;
  const exports = new Map<string, UsageExport>();

  /** Bytes that the SIM at a position has used between two instants, in ms. */
  const bytesAt = (place: number, fromMs: number, toMs: number): number => {
    const share = seededShare(seed ^ 0x05e, place);
    // A fifth use nothing; the others from 0.1 MB to 1 GB a day.
    const perDay = share < 0.2 ? 0 : 10 ** (4 + 5 * share);
    const until = (ms: number): number => Math.floor((perDay * (ms - firstCreatedMs)) / dayMs);
    return until(toMs) - until(fromMs);
  };

  function* pieces({ from, to, period }: UsageExport): Generator<string> {
    yield `\uFEFF${columns}\r\n`;
    const spans = [...listSpans(period, from * 1e3, to * 1e3)];
    for (let first = 0; first < sims.places; first += 1_000) {
      let text = "";
      for (let place = first; place < Math.min(first + 1_000, sims.places); place += 1) {
        for (const { date, fromMs, toMs } of spans) {
          const bytes = bytesAt(place, fromMs, toMs);
          // Some have changed their class within the period.
          const before = place % 8 === 0 ? Math.floor(bytes / 3) : 0;
          const line = `${sims.imsiAt(place)},${date}`;
          if (before > 0) text += `${line},s1.minimum,0,0,${before},${Math.ceil(before / 1e3)},\r\n`;
          if (bytes > 0) text += `${line},${sims.speedClassAt(place)},1,1,${bytes - before - 1},1,\r\n`;
        }
      }
      if (text !== "") yield text;
    }
  }

  /** @returns the path of an export's file with its state @throws Refusal */
  const stateOf = (id: string): { readonly status: "processing" | "exported" | "failed"; readonly path: string } => {
    const found = exports.get(id);
    if (found === undefined) throw new Refusal("exportUnknown");
    const isReady = found.readyAtMs <= clock.wallMs();
    const status = !isReady ? "processing" : found.hasFailed ? "failed" : "exported";
    return { status, path: `/exported/${id}?signature=${found.signature}` };
  };

  return {
    bytesAt,
    stateOf,
    /** @returns the ID of the export @throws Refusal */
    order(body: unknown): string {
      const { data } = order.safeParse(body);
      const nowMs = clock.wallMs();
      if (!data || data.from >= data.to || data.from * 1e3 < nowMs - 558 * dayMs) throw new Refusal("exportInvalid");
      const id = `fe_${exports.size + 1}`;
      const hasFailed = seededShare(seed ^ 0xe4, exports.size + 1) < exportFailures;
      const to = Math.min(data.to, Math.floor(nowMs / 1e3));
      exports.set(id, { ...data, to, hasFailed, readyAtMs: nowMs + exportMs, signature: randomUUID() });
      return id;
    },
    /** Yields the file in pieces. @throws Refusal without the signature */
    file(id: string, queryText: string): Iterable<string> {
      const { status, path } = stateOf(id);
      const found = exports.get(id);
      if (!found || status !== "exported" || !path.endsWith(`?${queryText}`)) throw new Refusal("exportUnknown");
      return pieces(found);
    },
  };
}

/** The days or months (UTC) between two instants, as `date` names them. */
function* listSpans(period: UsageExport["period"], fromMs: number, toMs: number) {
  for (let at = fromMs; at < toMs;) {
    const day = new Date(at);
    const [year, month] = [day.getUTCFullYear(), day.getUTCMonth()];
    const endMs = period === "month" ? Date.UTC(year, month + 1) : Date.UTC(year, month, day.getUTCDate() + 1);
    const date = day.toISOString().slice(0, period === "month" ? 7 : 10);
    yield { date: date.replaceAll("-", ""), fromMs: at, toMs: Math.min(endMs, toMs) };
    at = endMs;
  }
}
