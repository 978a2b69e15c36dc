/** The types of values that settings have: zod schemas that say in words what is expected. */
import { z } from "zod";
import { isLoopback } from "#core/loopback.ts";
import { roles } from "#fleet/role.ts";
import { isTimezone } from "#fleet/time/cron.ts";

/**
 * Says what a type expects. The type has to be a new one: a copy, as `meta` makes it, costs every command time.
 * @param expects completes "must be …", and is the type in the documentation
 */
export function expecting<T extends z.ZodType>(expects: string, type: T): T {
  z.globalRegistry.add(type, { expects });
  return type;
}

export function expectedOf(type: z.ZodType): string {
  return type.meta()?.["expects"] as string;
}

export function text(expects = "text", pattern = /^[^\0\r\n]+$/): z.ZodString {
  return expecting(expects, z.string().regex(pattern));
}

/** A path; a shell's `~` is rejected, since it would become a folder of that name. */
export const path = text("a path (`~` is not expanded)", /^[^~\0\r\n][^\0\r\n]*$/);

export const deploymentName = text("`svc`, `soracom` or the path of a platform definition");

/** Whether the setting names a file, and not a platform definition that comes with simfleet. */
export function isDeploymentFile(name: string): boolean {
  return /[^\w-]/.test(name);
}

/** Program and arguments; no shell interprets them. */
export const command = expecting(
  "a program and its arguments, such as `[/usr/local/bin/store, mqtt]`",
  z.tuple([z.string().min(1)], z.string()).refine((words) => words.every((word) => !word.includes("\0"))),
);

export function number(min: number, max: number): z.ZodNumber {
  return expecting(`a number from ${min} to ${max}`, z.number().min(min).max(max));
}

export function integer(min: number, max: number): z.ZodNumber {
  // After `int()`, zod would not look at the rest of the entry.
  return expecting(`a whole number from ${min} to ${max}`, z.number().multipleOf(1).min(min).max(max));
}

/** Share of a quota that bulk work leaves to other callers. */
export const reserve = expecting(
  "`auto`, or a number from 0 to 0.9",
  z.union([z.literal("auto"), z.number().min(0).max(0.9)]),
);

/** A period such as `15m`. */
export const period = text("a whole number and s, m, h or d, such as `15m`", /^[1-9]\d{0,3}[smhd]$/);

/** An amount of data such as `500MB`. */
export const dataSize = text(
  "a number and B, KB, MB, GB or TB, such as `500MB`",
  /^\d{1,6}(?:\.\d{1,3})? ?(?:[KMGT]?B)$/,
);

export const yesOrNo = expecting("`true` or `false`", z.boolean());

/** Letters, digits and marks that need no quotes anywhere. */
export const plainName = text("letters, digits, - and _", /^[A-Za-z0-9_-]{1,64}$/);

export const profileName = text("the name of a profile", /^[A-Za-z0-9_-]{1,64}$/);

/** How many failures abort a run. */
export const failureLimit = expecting(
  "a number of rows, or a share such as `5%`",
  z.union([z.number().int().min(0), z.string().regex(/^\d+(\.\d+)?%?$/)]),
);

export const cronText = text("a cron expression such as `0 8 * * 1-5`", /^[^\0\r\n]*$/);

export const timezone = expecting("a time zone such as `Asia/Tokyo` or `UTC`", z.string().refine(isTimezone));

export const names = expecting(
  "a list of names of fields, such as `[speedClass, status, tags]`",
  z.array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,99}$/)).max(100),
);

export function oneOf<const T extends readonly [string, ...string[]]>(words: T) {
  const listed = words.map((word) => `\`${word}\``).join(", ");
  return expecting(listed.replace(/, (?=[^,]*$)/, " or "), z.enum(words));
}

export function someOf<const T extends readonly [string, ...string[]]>(words: T) {
  return expecting(`a list of ${words.join(", ")}`, z.array(z.enum(words)).min(1));
}

/** An address that may be sent secrets: https, or plain http to this machine. */
export const webAddress = expecting(
  "an https URL without a user name (http is allowed only for this machine)",
  z.string().refine((address) => {
    const url = URL.parse(address);
    if (!url || url.username !== "" || url.password !== "" || url.hash !== "") return false;
    return url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname));
  }),
);

export const host = text("a host name or IP address", /^[A-Za-z0-9.:_-]+$/);
export const port = integer(0, 65_535);

/** A bearer token that callers of a server send. */
export const bearerToken = text(
  "at least 32 letters, digits and `._~+/=-` (make one with: openssl rand -hex 32)",
  /^[A-Za-z0-9._~+/=-]{32,1024}$/,
);

/** Word in the header names of the platform. */
export const brand = text("letters, digits and hyphens", /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38}[A-Za-z0-9])?$/);

/** Values of the `Host` header of a request. */
export const hostNames = expecting(
  "a list of host names, such as `[fleet.example.com, 10.0.0.5:8080]`",
  z.array(z.string().regex(/^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/)),
);

/** Names of others for our roles. */
export const roleNames = expecting(
  "a mapping of names to viewer, operator or admin (in the variable: `ops=operator,guests=viewer`)",
  z.record(z.string().min(1), z.enum(roles)),
);
