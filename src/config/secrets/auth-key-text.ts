/**
 * Parses an AuthKey from text: its secret alone, or a JSON object with id and secret. With the object, replacing the
 * file changes both at once, so an id is never combined with the secret of another AuthKey.
 */
import { z } from "zod";
import { expecting } from "../value-types.ts";

export interface AuthKeyText {
  /** Undefined where the text is the secret alone. */
  readonly authKeyId: string | undefined;
  readonly authKey: string;
}

const line = z.string().regex(/^[^\0\r\n]+$/);
const both = z.strictObject({ authKeyId: line, authKey: line });

/** @returns undefined where the text is neither; what begins with a brace is never taken for a secret */
export function parseAuthKeyText(written: string): AuthKeyText | undefined {
  if (!written.trimStart().startsWith("{")) {
    return line.safeParse(written).success ? { authKeyId: undefined, authKey: written } : undefined;
  }
  try {
    return both.safeParse(JSON.parse(written)).data;
  } catch {
    return undefined;
  }
}

export const authKeyText = expecting(
  "text, or a JSON object of `authKeyId` and `authKey` and nothing else",
  z.string().refine((written) => parseAuthKeyText(written) !== undefined),
);
