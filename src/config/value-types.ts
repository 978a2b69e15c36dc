/**
 * The kinds of values that settings can have. A kind validates a value, parses it from an environment variable, and
 * describes in error messages what was expected.
 */
import { z } from "zod";
import { isLoopback } from "#core/loopback.ts";
import { type Role, roles } from "#fleet/role.ts";

export interface Kind<T> {
  readonly schema: z.ZodType<T>;
  /** Completes "must be …", and is the type in the documentation. */
  readonly expects: string;
  /** Turns an environment variable's text into what the YAML file would hold; by default the text itself. */
  readonly fromText?: (text: string) => unknown;
}

export function text(expects = "text", pattern = /^[^\0\r\n]+$/): Kind<string> {
  return { schema: z.string().regex(pattern), expects };
}

/** A path; a shell's `~` is refused, since it would become a folder of that name. */
export const path: Kind<string> = text("a path (`~` is not expanded)", /^[^~\0\r\n][^\0\r\n]*$/);

export function number(least: number, most: number): Kind<number> {
  return { schema: z.number().min(least).max(most), expects: `a number from ${least} to ${most}`, fromText: numberOf };
}

export function integer(least: number, most: number): Kind<number> {
  return {
    schema: z.number().int().min(least).max(most),
    expects: `a whole number from ${least} to ${most}`,
    fromText: numberOf,
  };
}

/** Yes or no. */
export const yesOrNo: Kind<boolean> = {
  schema: z.boolean(),
  expects: "`true` or `false`",
  fromText: (written) => (written === "true" ? true : written === "false" ? false : written),
};

export const profileName = text("the name of a profile", /^[A-Za-z0-9_-]{1,64}$/);

/** How many failures abort a run. */
export const failureLimit: Kind<number | string> = {
  schema: z.union([z.number().int().min(0), z.string().regex(/^\d+(\.\d+)?%?$/)]),
  expects: "a number of rows, or a share such as `5%`",
};

/** An IANA time zone. */
export const timezone: Kind<string> = {
  schema: z.string().refine((name) => {
    try {
      return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
    } catch {
      return false;
    }
  }),
  expects: "a time zone such as `Asia/Tokyo` or `UTC`",
};

/** A list of names; in an environment variable with commas between them. */
export const names: Kind<readonly string[]> = {
  schema: z.array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,99}$/)).max(100),
  expects: "a list of names of fields, such as `[speedClass, status, tags]`",
  fromText: listOf,
};

export function oneOf<const T extends readonly [string, ...string[]]>(words: T): Kind<T[number]> {
  return { schema: z.enum(words), expects: words.map((word) => `\`${word}\``).join(", ") };
}

/** An address that may be sent secrets: https, or plain http to this machine. */
export const webAddress: Kind<string> = {
  schema: z.string().refine((address) => {
    const url = URL.parse(address);
    if (!url || url.username !== "" || url.password !== "" || url.hash !== "") return false;
    return url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname));
  }),
  expects: "an https address without user name (http to this machine alone)",
};

/** Some of these words; in an environment variable with commas between them. */
export function someOf<const T extends readonly [string, ...string[]]>(words: T): Kind<readonly T[number][]> {
  return { schema: z.array(z.enum(words)).min(1), expects: `a list of ${words.join(", ")}`, fromText: listOf };
}

/** The value of the `Host` header of a request. */
export const hostNames: Kind<readonly string[]> = {
  schema: z.array(z.string().regex(/^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/)),
  expects: "a list of host names, such as `[fleet.example.com, 10.0.0.5:8080]`",
  fromText: listOf,
};

/** Names of others for our roles; in an environment variable `ops=operator,guests=viewer`. */
export const roleNames: Kind<Readonly<Record<string, Role>>> = {
  schema: z.record(z.string().min(1), z.enum(roles)),
  expects: "a mapping of names to viewer, operator or admin (in the variable: `ops=operator,guests=viewer`)",
  fromText: (written) => Object.fromEntries(listOf(written).map((pair) => pair.split(/=(?=[^=]*$)/))) as unknown,
};

/** What is in it is checked by redis-url.ts, which says more than that it is wrong. */
export const redisAddress: Kind<string> = {
  schema: z.string(),
  expects: "an address such as `redis://host:6379` or `rediss://host:6380/1`",
};

function listOf(written: string): string[] {
  return written.split(",").map((name) => name.trim());
}

function numberOf(written: string): unknown {
  return /^-?[0-9]+(\.[0-9]+)?$/.test(written) ? Number(written) : written;
}
