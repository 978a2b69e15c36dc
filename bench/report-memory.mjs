// Loaded into a worker by NODE_OPTIONS: on SIGUSR2 it writes a line of JSON to stderr with Node.js's current memory
// usage and the peak since the previous line. Plain JavaScript, since stripping types would cost the worker 20 MB.
const pollIntervalMs = 50;
const names = ["heapUsed", "heapTotal", "external", "arrayBuffers"];
const most = {};

function poll() {
  const now = process.memoryUsage();
  for (const name of names) most[name] = Math.max(most[name] ?? 0, now[name]);
  return now;
}

setInterval(poll, pollIntervalMs).unref();
process.on("SIGUSR2", () => {
  const now = poll();
  process.stderr.write(`${JSON.stringify({ memoryReport: { now, most } })}\n`);
  for (const name of names) most[name] = now[name];
});
