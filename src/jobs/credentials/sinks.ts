/**
 * Delivers a new secret to its sinks, before the platform receives it. After a crash or a lost response a sink can
 * receive the same secret twice: a file is replaced by an identical one, a program gets the rotation's id in
 * SIMFLEET_ROTATION_ID, and a message's id contains the rotation's id.
 */
import { hash, randomBytes } from "node:crypto";
import { unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SimfleetError, codeOf, messageOf } from "#core/errors.ts";
import { Secret } from "#core/secrets/secret.ts";
import { readFileOnce } from "#core/files/open-file.ts";
import { createFile, replaceFile } from "#core/files/write-file.ts";
import type { WebhookSender } from "#events/webhook/webhook.ts";
import type { SealedFields } from "#engine/seal.ts";
import type { Sink } from "./config.ts";
import type { CommandRunner } from "./command.ts";

export interface SinkDeps {
  readonly commands: CommandRunner;
  /** Reads a file that only its owner may read; returns the fault if it cannot. */
  readonly readSecretFile: (path: string) => { readonly secret: string } | { readonly fault: string };
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

/** Why a sink did not accept the secret. */
interface Fault {
  readonly words: string;
  /** Retrying is useless. */
  readonly isFinal?: boolean;
  readonly retryAfterMs?: number | undefined;
}

export class SinkError extends SimfleetError {
  override readonly name = "SinkError";
  readonly isOfFile: boolean;
  readonly isFinal: boolean;

  constructor(sink: Sink, { words, isFinal = false, retryAfterMs }: Fault) {
    super("SINK_FAILED", `the sink ${sinkName(sink)} did not accept the new secret: ${words}`, { retryAfterMs });
    // Not the sink: its arguments and address may be confidential.
    this.isOfFile = sink.file !== undefined;
    this.isFinal = isFinal;
  }
}

/** Identifies a sink without revealing its arguments or address. */
export function sinkKey(sink: Sink): string {
  return hash("sha256", JSON.stringify(sink), "base64url").slice(0, 16);
}

/** Name for display: arguments and URL paths are left out, since they may be confidential. */
export function sinkName({ file, command, kubernetesSecret: secret, webhook }: Sink): string {
  if (file !== undefined) return `file ${file}`;
  if (command !== undefined) return `command ${command[0]}`;
  if (secret !== undefined) return `Kubernetes Secret ${secret.name}, key ${secret.key}`;
  return `webhook ${URL.parse(webhook?.url ?? "")?.host ?? ""}`;
}

/** @throws SinkError; the signal's reason */
export async function handOver(sink: Sink, handover: Handover, deps: SinkDeps, signal: AbortSignal): Promise<void> {
  const fault = await handTo(sink, handover, deps, signal);
  if (fault !== undefined) throw new SinkError(sink, fault);
}

async function handTo(sink: Sink, handover: Handover, deps: SinkDeps, signal: AbortSignal): Promise<Fault | undefined> {
  const content = formatContent(handover);
  const { file, command, kubernetesSecret, webhook } = sink;
  if (file !== undefined) return writeSecret(file, content);
  if (kubernetesSecret !== undefined) return patchSecret(kubernetesSecret, content, deps.pod, signal);
  const { rotation, rotationId, credentialsId } = handover;
  if (webhook !== undefined) return sendTo(webhook, `${rotationId}-${sinkKey(sink)}`, handover, deps);
  if (command === undefined) return undefined;
  const env = {
    SIMFLEET_ROTATION: rotation,
    SIMFLEET_ROTATION_ID: rotationId,
    SIMFLEET_CREDENTIALS_ID: credentialsId,
  };
  const { fault } = await deps.commands.run(command, { input: content, env, signal, complaint: "included" });
  return fault === undefined ? undefined : { words: fault };
}

/** Checks a sink in advance; returns the fault, if any. */
export async function sinkFault({ file }: Sink): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const probe = join(dirname(file), `.simfleet.${randomBytes(12).toString("hex")}.probe`);
  try {
    await createFile(probe, "", { mode: 0o600 });
    await unlink(probe);
    return undefined;
  } catch (thrown) {
    return `nothing can be written into ${dirname(file)}: ${messageOf(thrown)}`;
  }
}

function revealFields({ secrets, constants }: Handover): Record<string, string> {
  const clear = Object.entries(secrets).map(([name, secret]) => [name, secret.reveal()]);
  return { ...(Object.fromEntries(clear) as Record<string, string>), ...constants };
}

/** The plain value without a line break, or a JSON object of all fields with one. */
function formatContent(handover: Handover): string {
  const bare = handover.field === undefined ? undefined : handover.secrets[handover.field];
  return bare === undefined ? `${JSON.stringify(revealFields(handover))}\n` : bare.reveal();
}

async function writeSecret(path: string, content: string): Promise<Fault | undefined> {
  try {
    await replaceFile(path, content, { mode: 0o600 });
    return undefined;
  } catch (thrown) {
    const code = codeOf(thrown) ?? messageOf(thrown);
    const isFinal = ["ENOENT", "ENOTDIR", "EISDIR", "EACCES", "EPERM", "EROFS"].includes(code);
    return { words: `it cannot be written (${code})`, isFinal };
  }
}

const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";
const timeoutMs = 10_000;
const maxBytes = 1_048_576;

/**
 * Replaces one key of a Kubernetes Secret with the rights of the pod: its service account needs `patch` for this Secret
 * alone. The token is read each time, since Kubernetes replaces it.
 */
async function patchSecret(
  { name, key }: NonNullable<Sink["kubernetesSecret"]>,
  content: string,
  { env, folder = accountFolder }: SinkDeps["pod"],
  signal: AbortSignal,
): Promise<Fault | undefined> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = "443" } = env;
  if (!host) return { words: "this process does not run in a pod (KUBERNETES_SERVICE_HOST is not set)" };
  const { Agent, request } = await import("undici");
  let dispatcher: InstanceType<typeof Agent> | undefined;
  try {
    const [token = "", namespace = "", ca = ""] = ["token", "namespace", "ca.crt"].map((file) =>
      readFileOnce(join(folder, file), { links: "follow", maxBytes }).bytes.toString("utf8"),
    );
    dispatcher = new Agent({ connect: { ca } });
    const address = `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
    const { statusCode, body } = await request(`${address}/api/v1/namespaces/${namespace.trim()}/secrets/${name}`, {
      dispatcher,
      method: "PATCH",
      headers: { authorization: `Bearer ${token.trim()}`, "content-type": "application/merge-patch+json" },
      body: JSON.stringify({ data: { [key]: Buffer.from(content).toString("base64") } }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    await body.dump();
    if (statusCode === 200) return undefined;
    const isFinal = statusCode >= 400 && statusCode < 500 && statusCode !== 409 && statusCode !== 429;
    return { words: `the API server of Kubernetes returned ${statusCode}`, isFinal };
  } catch (thrown) {
    signal.throwIfAborted();
    return { words: messageOf(thrown) };
  } finally {
    await dispatcher?.destroy();
  }
}

async function sendTo(
  { url, secretFile, allowPrivate }: NonNullable<Sink["webhook"]>,
  id: string,
  handover: Handover,
  { webhooks, readSecretFile }: SinkDeps,
): Promise<Fault | undefined> {
  const read = readSecretFile(secretFile);
  if ("fault" in read) return { words: read.fault };
  const { rotation, rotationId, profile, credentialsId, type, startedAtMs } = handover;
  const body = JSON.stringify({
    type: "credential.handed-over",
    timestamp: new Date(startedAtMs).toISOString(),
    data: { rotation, rotationId, profile, credentialsId, type, credentials: revealFields(handover) },
  });
  const secret = new Secret(read.secret);
  try {
    const reach = allowPrivate ? "anywhere" : "public";
    const delivery = await webhooks.send({ url, id, body, secrets: [secret], reach });
    if (delivery.kind === "accepted") return undefined;
    if (delivery.kind === "unanswered") return { words: delivery.reason };
    return { ...delivery, words: `it returned ${delivery.status}` };
  } catch (thrown) {
    return { words: messageOf(thrown), isFinal: true };
  } finally {
    secret.forget();
  }
}
