// Loaded into a worker by NODE_OPTIONS: at SIGUSR2 it writes a line of JSON to stderr, what Node.js counts of its memory now
// and the most that it was since the line before. Plain JavaScript, since stripping types would cost the worker 20 MB.
const lookEveryMs = 50;
const names = ["heapUsed", "heapTotal", "external", "arrayBuffers"];
const most = {};

function look() {
  const now = process.memoryUsage();
  for (const name of names) most[name] = Math.max(most[name] ?? 0, now[name]);
  return now;
}

setInterval(look, lookEveryMs).unref();
process.on("SIGUSR2", () => {
  const now = look();
  process.stderr.write(`${JSON.stringify({ memoryReport: { now, most } })}\n`);
  for (const name of names) most[name] = now[name];
});
