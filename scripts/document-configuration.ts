/**
 * Writes docs/reference/configuration.md from the schema of the configuration:
 * `node scripts/document-configuration.ts`.
 */
import { writeFileSync } from "node:fs";
import { z } from "zod";
import { type Setting, settingsOf, variableOf } from "#config/setting.ts";
import { configSchema, fileVariable } from "#config/schema.ts";

/** Headings of the settings by the first segment of their path; a segment that is not listed is its own heading. */
const groups: Readonly<Record<string, string>> = {
  redis: "Redis and data",
  dataDir: "Redis and data",
  deployment: "Platform",
  brand: "Platform",
  endpoints: "Platform",
  language: "Platform",
  profile: "Profiles and credentials",
  profiles: "Profiles and credentials",
  tokenTtlSeconds: "Tokens of the platform",
  jwksUrl: "Tokens of the platform",
  tokenPublicKeyFile: "Tokens of the platform",
  limits: "Quotas and limits",
  inventory: "Inventory",
  events: "Events",
  changes: "Size and approval of runs",
  seal: "Sealing of new secrets",
  dropFolder: "Drop folder",
  http: "Control API and dashboard",
  server: "Remote worker",
  audit: "Audit log",
  retention: "Retention",
  archive: "Archive",
  logLevel: "Log",
};

/** The whole page. */
export function renderConfiguration(): string {
  const all = settingsOf(configSchema);
  const settings = all.filter(({ facts }) => facts.fileOf === undefined && facts.nameRule === undefined);
  const aboutOf = (path: string): string => all.find((one) => one.path === path)?.facts.description ?? "";
  const single = new Map<string, string[]>();
  const named = new Map<string, string[]>();
  for (const setting of settings) {
    const [first = "", ...rest] = setting.path.split(".");
    const isSingle = setting.variable !== undefined;
    const heading = isSingle ? (groups[first] ?? first) : sectionOf([first, ...rest].join("."));
    const group = isSingle ? single : named;
    group.set(heading, [...(group.get(heading) ?? []), textOf(setting)]);
  }
  const parts = [...single].map(([group, entries]) => `## ${group}\n\n${entries.join("\n")}`);
  const structures = [...named].map(([path, entries]) => {
    const source = `Variable: \`${variableOf(path)}\`, with all of it as YAML text. \`<name>\` is a name of your choice; \`[]\` stands for each item of a list.`;
    return `## \`${path}\`\n\n${wrap(aboutOf(path))}\n\n${wrap(source)}\n\n${entries.join("\n")}`;
  });
  const titles = [...single.keys(), ...[...named.keys()].map((path) => `\`${path}\``)];
  const contents = titles.map((title) => `- [${title}](#${anchorOf(title)})`).join("\n");
  return `${head}${contents}\n\n${[...parts, ...structures].join("\n")}`;
}

/** The path of the section that a setting of a named entry belongs to. */
function sectionOf(path: string): string {
  return path.slice(0, path.indexOf(".<name>"));
}

/** The anchor of a heading, as code hosts generate it. */
function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, "")
    .replaceAll(" ", "-");
}

function textOf({ path, schema, facts, variable }: Setting): string {
  const { description, expects, secret } = facts;
  const file = variable !== undefined && secret ? [`- From a file: \`${path}File\`, \`${variable}_FILE\``] : [];
  const lines = [
    ...(variable === undefined ? [] : [`- Variable: \`${variable}\``]),
    ...file,
    `- Value: ${expects}${secret ? " (secret)" : ""}`,
    `- Default: ${facts.fallback ?? defaultText(schema)}`,
  ];
  return `### \`${path}\`\n\n${wrap(description)}\n\n${lines.map((line) => wrap(line, "  ")).join("\n")}\n`;
}

/** The text wrapped at 100 characters; all lines but the first begin with `indent`. */
function wrap(text: string, indent = ""): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (longer.length > 100 && line.trim() !== "") {
      lines.push(line);
      line = `${indent}${word}`;
    } else line = longer;
  }
  return [...lines, line].join("\n");
}

function defaultText(schema: z.ZodType): string {
  if (schema instanceof z.ZodOptional) return "none";
  if (!(schema instanceof z.ZodDefault)) return "none (required)";
  const value = schema.def.defaultValue;
  if (!Array.isArray(value)) return `\`${String(value)}\``;
  return value.length === 0 ? "none" : `\`${value.join(",")}\``;
}

const head = `# Configuration

<!-- Written by scripts/document-configuration.ts from src/config/schema.ts; change it there. -->

simfleet reads settings from one YAML file and from environment variables. A variable overrides the file. An empty
variable counts as not set. The variable of a map or a list takes YAML text, and replaces what the file has in that place:
\`SIMFLEET_FREEZES='{ release: { cron: "0 18 * * 5", minutes: 2880 } }'\`. A list can also be written as \`a,b\`.

**File.** The first of: \`--config\`, \`${fileVariable}\`, \`config/simfleet.yaml\` if it exists,
\`/etc/simfleet/simfleet.yaml\` if it exists: the usual place of a machine whose users share a worker.
\`config/simfleet.example.yaml\` shows every setting. A relative path in the file begins at its folder, one of a
variable or an option at the working directory.

**Changes.** A worker reads the file again within two seconds after a change, or at once on SIGHUP, and takes \`schedules\`,
\`automations\`, \`rotations\`, \`authKeys\`, \`webhooks\`, \`freezes\` and \`dropFolder\`: all of them or, if anything in the file
is not valid, none. For that it completes the calls in flight and restarts its work, in about a second. Other changes need a
restart, as the log says. \`simfleet check\`, \`/healthz\` and the dashboard show a name for these sections; a command warns if
a worker's differs. Where workers differ, those with the newest run the schedules. Events: \`configuration.reloaded\`,
\`configuration.rejected\`; metric: \`simfleet_configuration_rejected\`.

**Problems.** simfleet reports all problems at once. Unknown keys and unknown \`SIMFLEET_\` variables are problems.

**Secrets.** Set a secret directly or, better, the path of a file that contains it. The file must belong to the user that
runs simfleet or to root, and nobody else may be able to read it (\`chmod 600\`). Symbolic links are followed. One line
break at its end is ignored. A YAML file that contains a secret needs the same owner and mode. A command needs only
the secrets that it uses: \`freeze on\` works for root beside the worker of another user, even with that worker's embedded
Redis while it runs. Leave secrets to the user who owns them: others run \`sudo -u USER simfleet …\`, or have a copy.

**A file that nobody named.** \`config/simfleet.yaml\` in the working directory is refused if it belongs to another user, or
if it decides where secrets of the environment are sent: endpoints or a deployment file with \`SIMFLEET_AUTH_KEY\` and
similar, \`redis.url\` with \`SIMFLEET_REDIS_PASSWORD\`, \`server.url\` with \`SIMFLEET_SERVER_TOKEN\`. Name the file with
\`--config\` or \`${fileVariable}\`, or set both in one place.

**Profiles.** A profile is a named account. The variables of profile settings apply to the selected profile. Its
credentials are exactly one of:

- \`authKeyId\` and \`authKey\`, with an optional second AuthKey that is used when the first is rejected
- \`email\` and \`password\`
- \`operatorId\`, \`userName\` and \`password\`

The last two accept \`mfaSecret\`. An AuthKey's secret can be a JSON object \`{"authKeyId": "…", "authKey": "…"}\` with both
parts. Changed credential files are reloaded without a restart ([authkeys.md](../authkeys.md)). The file of the Redis password
is read at start only.

**Proxies.** Calls to the platform, those of the gateway, requests for key sets, and webhooks go through the proxy that
\`HTTPS_PROXY\` names, else \`HTTP_PROXY\`, in lower case too. Hosts in \`NO_PROXY\` and this machine are reached directly, and so
are Redis, a worker of \`--server\` and the collector of traces. The proxy passes TLS on and sees host names only. For a proxy
that opens TLS, and so sees credentials, set \`NODE_EXTRA_CA_CERTS\` to the PEM file of its authority. \`simfleet check\` shows
the proxy.

**Editors.** \`simfleet schema\` prints the JSON Schema of this file; the build writes it as well, next to the program
(\`simfleet.schema.json\`). Editors with a YAML language server complete and check a file that begins with
\`# yaml-language-server: $schema=simfleet.schema.json\`, the path of the schema from there. \`simfleet check\` also checks
what JSON Schema cannot state: a secret is given once, a name that is referred to exists, a filter can be read, keys that
belong together are.

**Deployment files** are described in [platform-definitions.md](platform-definitions.md).

`;

if (import.meta.main) {
  const root = new URL("../", import.meta.url);
  writeFileSync(new URL("docs/reference/configuration.md", root), renderConfiguration());
}
