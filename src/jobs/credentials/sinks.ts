/**
 * Delivers a new secret to its sinks, before the platform receives it. After a crash or a lost response a sink can receive the
 * same secret twice: a file is replaced by an identical one, a program gets the rotation's id in SIMFLEET_ROTATION_ID, and
 * a message's id contains the rotation's id.
 */
import { createHash, randomBytes } from "node:crypto";
import { unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { Secret } from "#core/secret.ts";
import { readFileOnce } from "#core/files/open-file.ts";
import { createFile, replaceFile } from "#core/files/write-file.ts";
import type { Delivery, WebhookSender } from "#events/webhook/webhook.ts";
import type { SealedFields } from "#engine/seal.ts";
import type { Sink } from "./config.ts";
import type { SecretDeps } from "./new-secret.ts";

export interface SinkDeps extends SecretDeps {
  readonly webhooks: Pick<WebhookSender, "send">;
  /** The pod, and the folder where Kubernetes mounts the token, the namespace and the authority of the API server. */
  readonly pod: { readonly env: Readonly<Record<string, string | undefined>>; readonly folder?: string };
}

export interface Handover {
  readonly rotation: string;
  readonly rotationId: string;
  readonly profile: string;
  /** The set that will have the secret. */
  readonly credentialsId: string;
  readonly type: string;
  readonly secrets: SealedFields;
  readonly constants: Readonly<Record<string, string>>;
  /** The field whose plain value a file or program gets; absent: a JSON object of all fields. */
  readonly field: string | undefined;
  readonly startedAtMs: number;
}

export class SinkError extends SimfleetError {
  readonly kind: Sink["kind"];
  /** Whether retrying is useless. */
  readonly isFinal: boolean;

  constructor(sink: Sink, words: string, options: { isFinal: boolean; retryAfterMs?: number | undefined }) {
    super("SINK_FAILED", `the sink ${sinkName(sink)} did not accept the new secret: ${words}`, options);
    this.name = "SinkError";
    this.kind = sink.kind;
    this.isFinal = options.isFinal;
  }
}

/** Identifies a sink without revealing its arguments or address. */
export function sinkKey(sink: Sink): string {
  return createHash("sha256").update(JSON.stringify(sink)).digest("base64url").slice(0, 16);
}

/** Name for display: arguments and URL paths are left out, since they may be confidential. */
export function sinkName(sink: Sink): string {
  switch (sink.kind) {
    case "file":
      return `file ${sink.path}`;
    case "command":
      return `command ${sink.command[0]}`;
    case "kubernetesSecret":
      return `Kubernetes Secret ${sink.secret.name}, key ${sink.secret.key}`;
    case "webhook":
      return `webhook ${URL.parse(sink.url)?.host ?? ""}`;
  }
}

/** @throws SinkError; the signal's reason */
export async function handOver(sink: Sink, handover: Handover, deps: SinkDeps, signal: AbortSignal): Promise<void> {
  const content = contentOf(handover);
  switch (sink.kind) {
    case "file":
      return writeSecret(sink, content);
    case "command": {
      const env = {
        SIMFLEET_ROTATION: handover.rotation,
        SIMFLEET_ROTATION_ID: handover.rotationId,
        SIMFLEET_CREDENTIALS_ID: handover.credentialsId,
      };
      const terms = { input: content, env, signal, complaint: "included" } as const;
      const { fault } = await deps.commands.run(sink.command, terms);
      if (fault !== undefined) throw new SinkError(sink, fault, { isFinal: false });
      return;
    }
    case "kubernetesSecret":
      return patchSecret(sink, content, deps, signal);
    case "webhook":
      return sendTo(sink, handover, deps);
  }
}

/** Checks a sink in advance; returns the fault, if any. */
export async function sinkFault(sink: Sink): Promise<string | undefined> {
  if (sink.kind !== "file") return undefined;
  const probe = join(dirname(sink.path), `.simfleet.${randomBytes(12).toString("hex")}.probe`);
  try {
    await createFile(probe, "", { mode: 0o600 });
    await unlink(probe);
    return undefined;
  } catch (thrown) {
    return `nothing can be written into ${dirname(sink.path)}: ${messageOf(thrown)}`;
  }
}

function fieldsOf({ secrets, constants }: Handover): Record<string, string> {
  const clear = Object.entries(secrets).map(([name, secret]) => [name, secret.reveal()]);
  return { ...(Object.fromEntries(clear) as Record<string, string>), ...constants };
}

/** The plain value without a line break, or a JSON object of all fields with one. */
function contentOf(handover: Handover): string {
  const bare = handover.field === undefined ? undefined : handover.secrets[handover.field];
  return bare === undefined ? `${JSON.stringify(fieldsOf(handover))}\n` : bare.reveal();
}

async function writeSecret(sink: Extract<Sink, { kind: "file" }>, content: string): Promise<void> {
  try {
    await replaceFile(sink.path, content, { mode: 0o600 });
  } catch (thrown) {
    const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : messageOf(thrown);
    const isFinal = ["ENOENT", "ENOTDIR", "EISDIR", "EACCES", "EPERM", "EROFS"].includes(code);
    throw new SinkError(sink, `it cannot be written (${code})`, { isFinal });
  }
}

type KubernetesSink = Extract<Sink, { kind: "kubernetesSecret" }>;

async function patchSecret(sink: KubernetesSink, content: string, { pod }: SinkDeps, signal: AbortSignal) {
  const status = await replaceSecret(sink.secret, content, pod, signal).catch((thrown: unknown) => {
    signal.throwIfAborted();
    throw new SinkError(sink, messageOf(thrown), { isFinal: false });
  });
  if (status === 200) return;
  const isFinal = status >= 400 && status < 500 && status !== 409 && status !== 429;
  throw new SinkError(sink, `the API server of Kubernetes returned ${status}`, { isFinal });
}

const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";
const timeoutMs = 10_000;
const maxBytes = 1_048_576;

/**
 * Replaces one key of a Kubernetes Secret with the rights of the pod: its service account needs `patch` for this Secret
 * alone. The token is read each time, since Kubernetes replaces it.
 * @returns the status of the API server's answer; 200: the Secret has the content
 * @throws Error if there is no response, or no API server to ask
 */
async function replaceSecret(
  { name, key }: KubernetesSink["secret"],
  content: string,
  { env, folder = accountFolder }: SinkDeps["pod"],
  signal: AbortSignal,
): Promise<number> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = "443" } = env;
  if (!host) throw new Error("this process does not run in a pod (KUBERNETES_SERVICE_HOST is not set)");
  const [token = "", namespace = "", ca = ""] = ["token", "namespace", "ca.crt"].map((file) =>
    readFileOnce(join(folder, file), { links: "follow", maxBytes }).bytes.toString("utf8"),
  );
  const { Agent, request } = await import("undici");
  const dispatcher = new Agent({ connect: { ca } });
  try {
    const address = `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
    const { statusCode, body } = await request(`${address}/api/v1/namespaces/${namespace.trim()}/secrets/${name}`, {
      dispatcher,
      method: "PATCH",
      headers: { authorization: `Bearer ${token.trim()}`, "content-type": "application/merge-patch+json" },
      body: JSON.stringify({ data: { [key]: Buffer.from(content).toString("base64") } }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    await body.dump();
    return statusCode;
  } finally {
    await dispatcher.destroy();
  }
}

async function sendTo(sink: Extract<Sink, { kind: "webhook" }>, handover: Handover, deps: SinkDeps): Promise<void> {
  const read = deps.readSecretFile(sink.secretFile);
  if ("fault" in read) throw new SinkError(sink, read.fault, { isFinal: false });
  const { rotation, rotationId, profile, credentialsId, type, startedAtMs } = handover;
  const body = JSON.stringify({
    type: "credential.handed-over",
    timestamp: new Date(startedAtMs).toISOString(),
    data: { rotation, rotationId, profile, credentialsId, type, credentials: fieldsOf(handover) },
  });
  const secret = new Secret(read.secret);
  let delivery: Delivery;
  try {
    const id = `${rotationId}-${sinkKey(sink)}`;
    const reach = sink.allowPrivate === true ? "anywhere" : "public";
    delivery = await deps.webhooks.send({ url: sink.url, id, body, secrets: [secret], reach });
  } catch (thrown) {
    throw new SinkError(sink, messageOf(thrown), { isFinal: true });
  } finally {
    secret.forget();
  }
  if (delivery.kind === "accepted") return;
  if (delivery.kind === "unanswered") throw new SinkError(sink, delivery.reason, { isFinal: false });
  const { status, isFinal, retryAfterMs } = delivery;
  throw new SinkError(sink, `it returned ${status}`, { isFinal, retryAfterMs });
}

export function foldersOfSinks(entries: Readonly<Record<string, { readonly sinks: readonly Sink[] }>>): string[] {
  const sinks = Object.values(entries).flatMap((entry) => entry.sinks);
  return sinks.flatMap((sink) => (sink.kind === "file" ? [dirname(sink.path)] : []));
}
