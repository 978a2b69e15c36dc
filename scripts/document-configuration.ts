/** Writes docs/configuration.md from the table of settings: `node --conditions=source scripts/document-configuration.ts`. */
import { writeFileSync } from "node:fs";
import { valuesOf } from "#config/section.ts";
import { sections } from "#config/sections.ts";
import type { Setting } from "#config/setting.ts";
import { fileVariable, placesOf, settingIds, settingOf } from "#config/schema.ts";

/** The whole page. */
export function renderConfiguration(): string {
  const settings = tableOf([
    ["Setting", "Variable", "Value", "Default", "Meaning"],
    ...settingIds.map((id) => cellsOf(settingOf(id))),
  ]);
  const structures = sections.map(({ path, schema, about }) => {
    const values = [...valuesOf(schema, `${path}.<name>`)].map(({ path: where, facts }) => {
      const { expects, fallback = "has to be given", about: meaning } = facts;
      return [`\`${where}\``, expects, fallback, meaning];
    });
    const table = tableOf([["Setting", "Value", "Default", "Meaning"], ...values]);
    return `\n## \`${path}\`\n\n${about} It is given by file alone. \`[]\` stands for each item of a list.\n\n${table}`;
  });
  return `${head}${settings}${structures.join("")}`;
}

function tableOf(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`);
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return `${[lines[0], rule, ...lines.slice(1)].join("\n")}\n`;
}

const head = `# Configuration

<!-- Written by scripts/document-configuration.ts from src/config/schema.ts; change it there. -->

Settings come from one YAML file and from the environment; a variable beats the file, and one that is set to nothing
counts as not set. The file is the one of \`--config\`, else of \`${fileVariable}\`, else \`config/simfleet.yaml\` if it is
there. \`config/simfleet.example.yaml\` shows all of it. Paths are relative to the working folder.

All problems are reported at once. A key or a \`SIMFLEET_\` variable that does not exist is a problem.

A secret is given as it is, or by the file that holds it (the second name). Such a file belongs to the user that runs
simfleet or to root, and nobody else may read it (\`chmod 600\`); a symbolic link to it is followed; one line break at its
end is not part of the secret. A YAML file that holds a secret itself is kept to the same mode.

\`config/simfleet.yaml\` in the working folder, where nobody named it, is refused if it belongs to another user, and if it
decides where secrets of the environment go: base addresses or a deployment file beside \`SIMFLEET_AUTH_KEY\` and the like,
\`redis.url\` beside \`SIMFLEET_REDIS_PASSWORD\`, \`server.url\` beside \`SIMFLEET_SERVER_TOKEN\`. Name the file with
\`--config\` or \`${fileVariable}\`, or give both in one place.

A profile is a named account; the variables of a profile's settings apply to the one that is selected. Its credentials
are exactly one of: \`authKeyId\` and \`authKey\`; \`email\` and \`password\`; \`operatorId\`, \`userName\` and \`password\`. The
latter two take \`mfaSecret\` as well. An AuthKey may have a second one beside it, which is used where the first is
refused; and its secret, by file or not, may be a JSON object \`{"authKeyId": "…", "authKey": "…"}\` of both. The files of
credentials are watched, and taken up when they change (docs/authkeys.md); that of the Redis password is read at start.

What a deployment file holds, and how to write one of your own: [deployments.md](deployments.md).

`;

function cellsOf(setting: Setting): string[] {
  const places = placesOf(setting);
  const paths = places.map((place) => `\`${place.path}\``).join(", ");
  const variables = places.map((place) => `\`${place.variable}\``).join(", ");
  const expected = `${setting.kind.expects}${setting.secret ? " (secret)" : ""}`;
  const fallback = setting.default === undefined ? (setting.defaultAbout ?? "none") : defaultText(setting.default);
  return [paths, variables, expected, fallback, setting.about];
}

function defaultText(value: unknown): string {
  if (!Array.isArray(value)) return `\`${value as string | number}\``;
  return value.length === 0 ? "none" : `\`${value.join(",")}\``;
}

if (import.meta.main) writeFileSync(new URL("../docs/configuration.md", import.meta.url), renderConfiguration());
