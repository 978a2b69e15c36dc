/**
 * A rotation: how the secret of one Credential Set is replaced by a new one with no gap. `successor` makes a set beside
 * the old one and retires the old one once nothing uses it; `in-place` gives the one set another secret.
 */

export type RotationStrategy = "successor" | "in-place";

/** How a new value comes to be. */
export type Recipe =
  | { readonly kind: "bytes"; readonly bytes: number; readonly encoding: "base64url" | "base64" | "hex" }
  | { readonly kind: "letters"; readonly length: number; readonly alphabet: string };

/** Program and arguments; no shell reads them. */
export type Command = readonly [string, ...string[]];

/** Where the new secret comes from. Without a `field` it is a JSON object of all fields. */
export type SecretSource =
  | { readonly kind: "generate"; readonly field: string; readonly recipe: Recipe }
  | { readonly kind: "command"; readonly command: Command; readonly field: string | undefined }
  | { readonly kind: "file"; readonly path: string; readonly field: string | undefined };

/** Who is handed the new secret before the platform gets it. */
export type Sink =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "command"; readonly command: Command }
  | {
      readonly kind: "webhook";
      readonly url: string;
      readonly secretFile: string;
      /** Whether it may lead into a private network. */
      readonly allowPrivate?: true;
    };

export interface Rotation {
  readonly name: string;
  readonly profile: string;
  /** Type of the Credential Set: `psk`. */
  readonly type: string;
  /** Id of the set; successors are called `<id>-20261120T0300Z`. */
  readonly credentialsId: string;
  readonly description: string | undefined;
  readonly source: SecretSource;
  /** Fields beside the secret ones that are always the same; they are no secrets. */
  readonly constants: Readonly<Record<string, string>>;
  readonly strategy: RotationStrategy;
  /** How long the old set has to be out of use before it is retired. */
  readonly graceMs: number;
  /** Age at which an event says that the secret is due; absent: never. */
  readonly maxAgeMs: number | undefined;
  readonly sinks: readonly Sink[];
}

/** Length of what follows the id in a successor's: `-20261120T0300Z`. */
export const successorSuffixLength = 15;

/** Whether a set is one of a rotation: the first one, or a successor. */
export function isSetOf({ credentialsId }: Pick<Rotation, "credentialsId">, id: string): boolean {
  if (id === credentialsId) return true;
  return id.startsWith(`${credentialsId}-`) && /^\d{8}T\d{4}Z$/.test(id.slice(credentialsId.length + 1));
}

/**
 * The id of a successor made now; a later minute where the id is taken.
 * @param taken ids of the account
 */
export function successorId(credentialsId: string, nowMs: number, taken: ReadonlySet<string>): string {
  for (let atMs = nowMs; ; atMs += 60_000) {
    const stamp = new Date(atMs).toISOString().replace(/[-:]/g, "").slice(0, 13);
    const id = `${credentialsId}-${stamp}Z`;
    if (!taken.has(id)) return id;
  }
}
