/**
 * New secrets: where they come from, and their delivery to sinks.
 * A secret is delivered to its sinks, before the platform receives it. After a crash or a lost response a sink can receive the
 * same secret twice: a file is replaced by an identical one, a program gets the rotation's id in SIMFLEET_ROTATION_ID, and
 * a message's id contains the rotation's id.
 */
import { createHash, randomBytes, randomInt } from "node:crypto";
import { unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { messageOf, SimfleetError } from "#core/errors.ts";
import { Secret } from "#core/secret.ts";
import { readFileOnce } from "#core/files/open-file.ts";
import { createFile, replaceFile } from "#core/files/write-file.ts";
import type { Delivery, WebhookSender } from "#events/webhook/webhook.ts";
import type { SealedFields } from "#engine/seal.ts";
import type { Rotation, SecretSource, Sink } from "./config.ts";
import { z } from "zod";
import { type CredentialTypes, credentialFaults } from "#api/operations/credentials.ts";
import { longestValue } from "./contract.ts";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { scrubSecrets } from "#core/scrub-secrets.ts";
import { type Clock, inTime, secondMs } from "#core/time.ts";

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
const patchTimeoutMs = 10 * secondMs;
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
      signal: AbortSignal.any([signal, AbortSignal.timeout(patchTimeoutMs)]),
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

// Generates the new secret of a rotation: random, printed by a program, or read from a file.

/** Sources of secrets other than randomness. */
export interface SecretDeps {
  readonly commands: CommandRunner;
  /** Reads a file that only its owner may read; returns the fault if it cannot. */
  readonly readSecretFile: (path: string) => { readonly secret: string } | { readonly fault: string };
}

const secretFields = z.record(z.string(), z.string().min(1)).refine((fields) => Object.keys(fields).length > 0);

/**
 * The secret fields of a new Credential Set, without the constants. Multi-line values use line feeds only, since receivers
 * of a certificate may accept no other line breaks (interface, section 2).
 * @throws SimfleetError SECRET_GENERATION_FAILED
 */
export async function newSecret(rotation: Rotation, types: CredentialTypes, deps: SecretDeps, signal: AbortSignal) {
  const { source } = rotation;
  const values =
    source.kind === "generate"
      ? { [source.field]: drawn(source.recipe) }
      : valuesIn(await textFrom(source, deps, signal), source);
  return checked(values, rotation, types, (words) => unmade(source, words));
}

/**
 * The secret fields of a set that a user changes: one field's value, or a JSON object of all fields. Without a `field`, a
 * value that is no JSON object is for the only field of its type.
 * @throws SimfleetError REQUEST_INVALID, without a piece of the value
 */
export function givenSecret(
  { type, field, value }: { readonly type: string; readonly field?: string | undefined; readonly value: string },
  types: CredentialTypes,
): SealedFields {
  const [only, ...others] = (Object.hasOwn(types, type) ? types[type] : undefined) ?? [];
  const object = field === undefined ? jsonIn(value) : undefined;
  const isBare = others.length === 0 && (typeof object !== "object" || object === null);
  const named = field ?? (isBare ? only : undefined);
  const values = named === undefined ? secretFields.safeParse(object).data : { [named]: value };
  if (values === undefined) throw unusable(`it ${noObject}.`);
  return checked(values, { type, constants: {} }, types, unusable);
}

function checked(
  values: Readonly<Record<string, string>>,
  { type, constants }: Pick<Rotation, "type" | "constants">,
  types: CredentialTypes,
  refuse: (words: string) => SimfleetError,
): SealedFields {
  const [fields, fixed] = [values, constants].map((texts) =>
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, new Secret(text.replace(/\r\n?/g, "\n"))])),
  ) as [SealedFields, SealedFields];
  const faults = credentialFaults(types, { type, credentials: { ...fields, ...fixed } });
  forgetAll(fixed);
  if (faults.length === 0) return fields;
  forgetAll(fields);
  throw refuse(faults.map(({ where, message }) => `${where} ${message}`).join(" "));
}

/** Unregisters the values from the scrubber. */
export function forgetAll(fields: SealedFields): void {
  for (const secret of Object.values(fields)) secret.forget();
}

type Generated = Extract<SecretSource, { kind: "generate" }>;
type OtherSource = Exclude<SecretSource, Generated>;

function valuesIn(text: string, source: OtherSource): Readonly<Record<string, string>> {
  if (text.length > longestValue) throw unmade(source, `gave more than ${longestValue} characters`);
  const values = source.field === undefined ? secretFields.safeParse(jsonIn(text)).data : { [source.field]: text };
  if (values === undefined) throw unmade(source, noObject);
  return values;
}

async function textFrom(source: OtherSource, deps: SecretDeps, signal: AbortSignal): Promise<string> {
  if (source.kind === "file") {
    const read = deps.readSecretFile(source.path);
    if ("secret" in read) return read.secret;
    throw unmade(source, read.fault);
  }
  const { fault, output } = await deps.commands.run(source.command, { input: "", complaint: "left-out", signal });
  if (fault !== undefined) throw unmade(source, fault);
  const value = output.replace(/\r?\n$/, "");
  if (value === "") throw unmade(source, "printed nothing");
  return value;
}

const noObject = "has to give a JSON object of texts, since no `field` is given";

/** @returns undefined for a text that is no JSON: an error would contain a piece of it */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unmade(source: SecretSource, words: string): SimfleetError {
  const what = { generate: "generate", command: "the command of `from`", file: "the file of `from`" }[source.kind];
  return new SimfleetError("SECRET_GENERATION_FAILED", `the new secret could not be generated: ${what}: ${words}`);
}

function unusable(words: string): SimfleetError {
  return new SimfleetError("REQUEST_INVALID", `the value cannot be used, and nothing was sent: ${words}`);
}

/** Draws a value; every outcome is equally likely. */
export function drawn(recipe: Generated["recipe"]): string {
  if (recipe.kind === "bytes") return randomBytes(recipe.bytes).toString(recipe.encoding);
  const { alphabet, length } = recipe;
  return Array.from({ length }, () => alphabet.charAt(randomInt(alphabet.length))).join("");
}

// Runs a program from the configuration. Its input is passed only through standard input, so no process list shows it; its
// environment contains none of simfleet's variables. No shell interprets the arguments.

const maxOutput = 65_536;
const maxWords = 200;
/** Time between SIGTERM and SIGKILL. */
const graceMs = 2 * secondMs;

interface Options {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Time after which the program and all its children are stopped; 30,000 ms by default. */
  readonly timeoutMs?: number;
}

export class CommandRunner {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  /**
   * @param terms `env` is added to its environment and contains no secret; when the signal aborts, the program is stopped;
   *   `complaint` is omitted if the program knows a secret that simfleet does not know and therefore cannot redact
   * @returns `output`: standard output, if the program succeeded; it may contain a secret. `fault`: fault of the program,
   *   without known secrets; undefined if it succeeded
   * @throws the signal's reason
   */
  async run(
    [program, ...args]: readonly [string, ...string[]],
    terms: {
      input: string;
      env?: Readonly<Record<string, string>>;
      complaint: "included" | "left-out";
      signal: AbortSignal;
    },
  ): Promise<{ readonly output: string; readonly fault: string | undefined }> {
    const { signal } = terms;
    const { env, clock, timeoutMs = 30 * secondMs } = this.#options;
    signal.throwIfAborted();
    // Our own credentials are among these variables.
    const others = Object.entries(env).filter(([name]) => !name.startsWith("SIMFLEET_"));
    const child = spawn(program, args, {
      env: { ...Object.fromEntries(others), ...terms.env },
      stdio: ["pipe", "pipe", "pipe"],
      // A separate process group, so that its children can be stopped with it.
      detached: true,
    });
    const output = gather(child.stdout);
    const complaint = gather(child.stderr);
    // A program that does not read all of its input is still evaluated by its exit.
    child.stdin.on("error", () => undefined).end(terms.input);
    const closed = once(child, "close") as Promise<[number | null, string | null]>;
    const ended = closed.then(
      ([code, killedBy]) =>
        code === 0 ? undefined : `${program} ended with ${code === null ? killedBy : `exit code ${code}`}`,
      (thrown: unknown) => `${program} cannot be started (${codeOf(thrown)})`,
    );
    const done = new AbortController();
    const late = clock.sleep(timeoutMs, AbortSignal.any([done.signal, signal])).then(
      () =>
        child.exitCode === null && child.signalCode === null
          ? `${program} did not end within ${timeoutMs / secondMs} s`
          : `${program} ended, but a process that it started kept its output open for ${timeoutMs / secondMs} s`,
      () => undefined,
    );
    const isEnded = await Promise.race([ended.then(() => true), late.then(() => false)]);
    done.abort();
    if (!isEnded) await stop(child, inTime(clock, graceMs, ended));
    signal.throwIfAborted();
    const tooLong = output.isTooLong() ? `${program} printed more than ${maxOutput} bytes` : undefined;
    const fault = (await (isEnded ? ended : late)) ?? tooLong;
    if (fault === undefined) return { output: output.text(), fault };
    if (terms.complaint === "left-out") return { output: "", fault };
    const words = scrubSecrets(complaint.text()).replaceAll(/\s+/g, " ").trim().slice(0, maxWords);
    return { output: "", fault: words === "" ? fault : `${fault}: ${words}` };
  }
}

/** Stops the program and its children, without waiting for a process that keeps its output open. */
async function stop(child: ChildProcessWithoutNullStreams, ended: Promise<unknown>): Promise<void> {
  signalGroup(child, "SIGTERM");
  await ended;
  signalGroup(child, "SIGKILL");
  for (const stream of child.stdio) stream?.destroy();
}

function signalGroup({ pid }: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // No process of the group is left.
  }
}

function gather(stream: NodeJS.ReadableStream): { text: () => string; isTooLong: () => boolean } {
  const chunks: Buffer[] = [];
  let length = 0;
  stream.on("data", (chunk: Buffer) => {
    length += chunk.length;
    if (length <= maxOutput) chunks.push(chunk);
  });
  return { text: () => Buffer.concat(chunks).toString(), isTooLong: () => length > maxOutput };
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : "unknown error";
}
