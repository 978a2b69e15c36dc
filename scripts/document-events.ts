/** Rewrites docs/reference/events.md from the catalog of events: node scripts/document-events.ts */
import { readFileSync, writeFileSync } from "node:fs";
import type { EventFacts } from "#events/event.ts";
import { features } from "#features.ts";

const page = new URL("../docs/reference/events.md", import.meta.url);
const begin = "<!-- the tables are made by scripts/document-events.ts -->";

type Entry = readonly [type: string, facts: EventFacts];

/** The page as it should be: its own text, then a section for each kind of events. */
export function eventsPage(present: string): string {
  const head = present.slice(0, present.indexOf(begin));
  const all = features.flatMap(({ events = {} }) => Object.entries(events));
  const kinds = Object.groupBy(all, ([type]) => type.split(".", 1)[0] ?? "");
  return `${head}${begin}\n${Object.entries(kinds)
    .map(([kind, entries = []]) => sectionOf(kind, entries))
    .join("")}`;
}

/** Fields that all events of the kind have are listed once, below the table. */
function sectionOf(kind: string, entries: readonly Entry[]): string {
  const [first, ...others] = entries.map(([, { fields }]) => Object.entries(fields));
  const shared = (first ?? []).filter(([name, about]) =>
    others.every((fields) => fields.some(([other, text]) => other === name && text === about)),
  );
  const isShared = new Set(entries.length > 1 ? shared.map(([name]) => name) : []);
  const rows = entries.map(([type, { when, fields }]) => {
    const further = Object.entries(fields).filter(([name]) => !isShared.has(name));
    return `| \`${type}\` | ${when} | ${further.map(described).join("; ")} |`;
  });
  const table = ["| event | when | fields |", "|---|---|---|", ...rows].join("\n");
  if (isShared.size === 0) return `\n## \`${kind}.*\`\n\n${table}\n`;
  const list = shared.map((field) => `- ${described(field)}`).join("\n");
  return `\n## \`${kind}.*\`\n\n${table}\n\nEach of them also has:\n\n${list}\n`;
}

function described([name, about]: readonly [string, string]): string {
  return `\`${name}\`: ${about}`;
}

if (import.meta.main) writeFileSync(page, eventsPage(readFileSync(page, "utf8")));
