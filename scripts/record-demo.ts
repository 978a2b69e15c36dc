/**
 * Records `npm run demo` in a real terminal (tmux) as an animated SVG for the README: docs/pictures/demo.svg.
 *
 *   node scripts/record-demo.ts
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const session = `record-${process.pid}`;
const size = { columns: 124, rows: 22 };
const cell = { width: 8.4, height: 18 };
const margin = 16;
const frameEveryMs = 1_000;
const longestMs = 60_000;
const holdLastSeconds = 6;

function tmux(...args: string[]): string {
  return execFileSync("tmux", args, { encoding: "utf8" });
}

async function record(): Promise<string[][]> {
  const screen = ["-x", String(size.columns), "-y", String(size.rows)];
  tmux("new-session", "-d", "-s", session, ...screen, "env PS1='$ ' bash --norc --noprofile");
  const frames: string[][] = [];
  try {
    tmux("send-keys", "-t", session, "clear; npm run --silent demo; echo '--- ended'", "Enter");
    const endMs = performance.now() + longestMs;
    while (performance.now() < endMs) {
      await sleep(frameEveryMs);
      const lines = tmux("capture-pane", "-p", "-t", session).split("\n");
      const isOver = lines.some((line) => line.startsWith("--- ended"));
      const shown = lines.filter((line) => !line.startsWith("--- ended") && line.trim() !== "$");
      frames.push(["$ npm run demo", ...shown.filter((line) => !line.includes("echo '--- ended'"))]);
      if (isOver) break;
    }
  } finally {
    tmux("kill-session", "-t", session);
  }
  return frames.filter((frame, i) => frame.join("\n") !== frames[i - 1]?.join("\n"));
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll(" ", "\u00A0");
}

function draw(frames: readonly string[][]): string {
  const width = Math.ceil(size.columns * cell.width + 2 * margin);
  const height = Math.ceil(size.rows * cell.height + 2 * margin);
  const seconds = (frames.length * frameEveryMs) / 1_000 + holdLastSeconds;
  const groups = frames.map((frame, i) => {
    const from = ((i * frameEveryMs) / 1_000 / seconds) * 100;
    const to = i === frames.length - 1 ? 100 : (((i + 1) * frameEveryMs) / 1_000 / seconds) * 100;
    const text = frame
      .map((line, row) => [line.trimEnd(), row] as const)
      .filter(([line]) => line !== "")
      .map(([line, row]) => `<text x="${margin}" y="${margin + (row + 0.75) * cell.height}">${escaped(line)}</text>`)
      .join("");
    const shownFrom =
      i === 0 ? "0%{visibility:visible}" : `0%{visibility:hidden}${from.toFixed(3)}%{visibility:visible}`;
    const hiddenFrom = to === 100 ? "" : `${to.toFixed(3)}%{visibility:hidden}`;
    const keyframes = `@keyframes f${i}{${shownFrom}${hiddenFrom}}`;
    const style = `${keyframes}#f${i}{visibility:hidden;animation:f${i} ${seconds}s step-end infinite}`;
    return { style, group: `<g id="f${i}">${text}</g>` };
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" role="img">`,
    "<title>simfleet demo: plan, live progress, outcome counts and the path of the results file</title>",
    `<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d6deeb}${groups.map(({ style }) => style).join("")}</style>`,
    `<rect width="${width}" height="${height}" rx="8" fill="#0b1622"/>`,
    ...groups.map(({ group }) => group),
    "</svg>\n",
  ].join("\n");
}

mkdirSync("docs/pictures", { recursive: true });
const frames = await record();
writeFileSync("docs/pictures/demo.svg", draw(frames));
console.log(`${frames.length} frames`);
