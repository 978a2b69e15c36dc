/** Rewrites docs/events.md from the catalogue of events: node --conditions=simfleet-source scripts/document-events.ts */
import { readFileSync, writeFileSync } from "node:fs";
import { eventCatalogue } from "#events/event.ts";

const page = new URL("../docs/events.md", import.meta.url);
const begin = "<!-- the table is made by scripts/document-events.ts -->";

/** The page as it should be: its own text, then the table. */
export function eventsPage(present: string): string {
  const head = present.slice(0, present.indexOf(begin));
  const rows = Object.entries(eventCatalogue).map(([type, { when, fields }]) => {
    const named = Object.entries(fields).map(([name, about]) => `\`${name}\`: ${about}`);
    return `| \`${type}\` | ${when} | ${named.join("; ")} |`;
  });
  return `${head}${begin}\n\n| event | when | fields |\n|---|---|---|\n${rows.join("\n")}\n`;
}

if (import.meta.main) writeFileSync(page, eventsPage(readFileSync(page, "utf8")));
