/**
 * Replaces one key of a Kubernetes Secret with the rights of the pod: its service account needs `patch` for this Secret
 * alone. The token is read each time, since Kubernetes replaces it.
 */
import { join } from "node:path";
import { readFileOnce } from "#core/files/open-file.ts";
import type { KubernetesSecret } from "#fleet/rotation.ts";

export interface Pod {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where Kubernetes mounts the token, the namespace and the authority of the API server. */
  readonly folder?: string;
}

const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";
const timeoutMs = 10_000;
const maxBytes = 1_048_576;

/**
 * @returns the status of the API server's answer; 200: the Secret has the content
 * @throws Error if there is no response, or no API server to ask
 */
export async function replaceSecret(
  { name, key }: KubernetesSecret,
  content: string,
  { env, folder = accountFolder }: Pod,
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
