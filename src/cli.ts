#!/usr/bin/env node
/**
 * The entry point of the command line: checks the version of Node.js and loads the rest. An older Node.js must be able
 * to read this file, so it has no import at its top and no recent syntax.
 */
const oldestNode = 24;

// Without a listener, the first opens a port for debuggers, and the second ends the process.
process.on("SIGUSR1", function () {});
process.on("SIGUSR2", function () {});

if (Number(process.versions.node.split(".", 1)[0]) < oldestNode) {
  console.error(
    `simfleet needs Node ${oldestNode} or newer and was started with ${process.version}. ` +
      "Install one from https://nodejs.org; in a clone, npm ci brings one: start it with npx simfleet",
  );
  process.exitCode = 2;
} else {
  void import("#start.ts").then(({ start }) => start());
}
