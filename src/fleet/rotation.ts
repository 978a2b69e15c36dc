/**
 * A rotation: replaces the secret of one Credential Set with a new one, without a gap. `successor` creates a new set
 * next to the old one and deletes the old one once it is unused; `in-place` gives the existing set a new secret.
 */

export type RotationStrategy = "successor" | "in-place";

/** How a new value is generated. */
export type Recipe =
  | { readonly kind: "bytes"; readonly bytes: number; readonly encoding: "base64url" | "base64" | "hex" }
  | { readonly kind: "letters"; readonly length: number; readonly alphabet: string };

/** Program and arguments; no shell interprets them. */
export type Command = readonly [string, ...string[]];

/** The source of the new secret. Without a `field` it is a JSON object of all fields. */
export type SecretSource =
  | { readonly kind: "generate"; readonly field: string; readonly recipe: Recipe }
  | { readonly kind: "command"; readonly command: Command; readonly field: string | undefined }
  | { readonly kind: "file"; readonly path: string; readonly field: string | undefined };

/** A key of a Kubernetes Secret in the namespace of the pod. */
export interface KubernetesSecret {
  readonly name: string;
  readonly key: string;
}

/** A consumer that receives the new secret before the platform does. */
export type Sink =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "command"; readonly command: Command }
  | { readonly kind: "kubernetesSecret"; readonly secret: KubernetesSecret }
  | {
      readonly kind: "webhook";
      readonly url: string;
      readonly secretFile: string;
      /** Whether the address may be in a private network. */
      readonly allowPrivate?: true;
    };

export interface Rotation {
  readonly name: string;
  readonly profile: string;
  /** Type of the Credential Set: `psk`. */
  readonly type: string;
  /** Id of the set; successors are named `<id>-20261120T0300Z`. */
  readonly credentialsId: string;
  readonly description: string | undefined;
  readonly source: SecretSource;
  /** Constant fields next to the secret ones; they are not secret. */
  readonly constants: Readonly<Record<string, string>>;
  readonly strategy: RotationStrategy;
  /** How long the old set must be unused before it is deleted. */
  readonly graceMs: number;
  /** Age at which an event reports that the secret is due for rotation; absent: never. */
  readonly maxAgeMs: number | undefined;
  readonly sinks: readonly Sink[];
}

/** An ID of a Credential Set starts with a letter or digit, so that it is never `..`. */
export const credentialsIdForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** Length of a successor's suffix: `-20261120T0300Z`. */
export const successorSuffixLength = 15;

/** Whether a set belongs to a rotation: the first one, or a successor. */
export function isSetOf({ credentialsId }: Pick<Rotation, "credentialsId">, id: string): boolean {
  if (id === credentialsId) return true;
  return id.startsWith(`${credentialsId}-`) && /^\d{8}T\d{4}Z$/.test(id.slice(credentialsId.length + 1));
}

/**
 * The id of a successor created now; uses a later minute if the id is taken.
 * @param taken ids of the account
 */
export function successorId(credentialsId: string, nowMs: number, taken: ReadonlySet<string>): string {
  for (let atMs = nowMs; ; atMs += 60_000) {
    const stamp = new Date(atMs).toISOString().replace(/[-:]/g, "").slice(0, 13);
    const id = `${credentialsId}-${stamp}Z`;
    if (!taken.has(id)) return id;
  }
}
