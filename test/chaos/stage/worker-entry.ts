/**
 * The real worker (src/worker.ts) in a process whose wall clock a parent can move: `Date` is wrapped before anything
 * else is loaded, as if a user had set the machine's clock. The process ends with its parent.
 */
import { fileURLToPath } from "node:url";

const TrueDate = Date;
let offsetMs = 0;

class MovableDate extends TrueDate {
  constructor(...parts: ConstructorParameters<typeof Date> | []) {
    if (parts.length === 0) super(MovableDate.now());
    else super(...parts);
  }
  static override now(): number {
    return TrueDate.now() + offsetMs;
  }
}

globalThis.Date = MovableDate as DateConstructor;
process.on("message", (message: { readonly clockOffsetMs: number }) => {
  offsetMs = message.clockOffsetMs;
});
process.on("disconnect", () => process.exit(9));
process.channel?.unref();

const worker = fileURLToPath(new URL("../../../src/worker.ts", import.meta.url));
process.argv[1] = worker;
await import(worker);
