/** The parts of a rotation that need neither Redis nor a platform. */
import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { readSecretFile } from "#config/secrets/secret-file.ts";
import { Secret } from "#core/secrets/secret.ts";
import { systemClock } from "#core/time.ts";
import type { Rotation, Given, Sink } from "#jobs/credentials/config.ts";
import { commandRunner } from "#jobs/credentials/command.ts";
import { drawn, newSecret } from "#jobs/credentials/new-secret.ts";
import { handOver, SinkError, sinkKey, sinkName } from "#jobs/credentials/sinks.ts";
import { entriesRenamed, mayMean, referencesIn } from "#jobs/credentials/references.ts";
import { createAuthority } from "../../support/certificates.ts";
import { until } from "../../support/until.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const folder = temporaryFolder(afterAll);

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

const never = new AbortController().signal;
const env = { PATH: process.env.PATH, SIMFLEET_AUTH_KEY: "not-for-programs" };
const commands = commandRunner({ env, clock: systemClock, timeoutMs: 1_000 });
const harness = {
  commands,
  readSecretFile,
  webhooks: { send: () => Promise.reject(new Error("no webhook here")) },
  pod: { env: {} },
};

const rotationOf = (from: Given, more: Partial<Rotation> = {}): Rotation => ({
  name: "a",
  profile: "default",
  type: "psk",
  credentialsId: "a",
  description: undefined,
  from,
  constants: {},
  strategy: "successor",
  graceMs: 0,
  maxAgeMs: undefined,
  sinks: [],
  ...more,
});

describe("generated values", () => {
  it.each([
    ["base64url", /^[\w-]{43}$/],
    ["base64", /^[\w+/]{43}=$/],
    ["hex", /^[0-9a-f]{64}$/],
  ] as const)("a generated value is encoded as %s", (encoding, form) => {
    expect(drawn({ field: "key", bytes: 32, encoding })).toMatch(form);
  });

  it("a generated value has its configured length and a uniform distribution of characters", () => {
    const alphabet = "abcdefghij";
    const counts = new Map<string, number>();
    for (const letter of drawn({ field: "key", encoding: "hex", length: 4_096, alphabet })) {
      counts.set(letter, (counts.get(letter) ?? 0) + 1);
    }
    expect([...counts.keys()].sort().join("")).toBe(alphabet);
    // Ten standard deviations around the mean of 410.
    for (const count of counts.values()) expect(Math.abs(count - 410)).toBeLessThan(200);
  });
});

describe("new secrets", () => {
  const made = async (source: Given, more: Partial<Rotation> = {}): Promise<Record<string, string>> => {
    const types = { psk: ["key"], pair: ["user", "word"] };
    const fields = await newSecret(rotationOf(source, more), types, harness, never);
    return Object.fromEntries(Object.entries(fields).map(([name, secret]) => [name, secret.reveal()]));
  };
  const printed = (text: string, field?: string): Given => ({
    command: ["printf", "%s", text],
    field,
  });

  it("a new secret is a command's output without its trailing line break and carriage returns", async () => {
    expect(await made(printed("one\r\ntwo\n", "key"))).toEqual({ key: "one\ntwo" });
  });

  it("a new secret is read from a file that others cannot read", async () => {
    const path = join(folder, "next");
    writeFileSync(path, "from the file\n", { mode: 0o600 });
    expect(await made({ file: path, field: "key" })).toEqual({ key: "from the file" });
    chmodSync(path, 0o644);
    await expect(made({ file: path, field: "key" })).rejects.toThrow("can be read by others");
  });

  it("a new secret can be a JSON object of fields completed by constants", async () => {
    const more = { type: "pair", constants: { user: "me" } };
    expect(await made(printed('{"word":"w"}'), more)).toEqual({ word: "w" });
    await expect(made(printed('{"wort":"w"}'), more)).rejects.toThrow("credentials.word is missing");
  });

  it.each([
    ["canary is no JSON", undefined],
    ['["canary"]', undefined],
    ['{"key":{"canary":1}}', undefined],
    ["", "key"],
  ])("the invalid secret %s is refused without showing its content", async (text, field) => {
    const thrown = await made(printed(text, field)).catch((error: unknown) => error);
    expect(thrown).toMatchObject({ code: "SECRET_GENERATION_FAILED", message: expect.not.stringContaining("canary") });
  });
});

describe("commands", () => {
  it("a command does not inherit the process environment, and its error output is reported", async () => {
    const { fault } = await commands.run(["sh", "-c", "env >&2; exit 7"], {
      input: "",
      complaint: "included",
      signal: never,
    });
    expect(fault).toMatch(/^sh ended with exit code 7: .*PATH=/);
    expect(fault).not.toContain("SIMFLEET");
  });

  it.each([
    ["that is not there", ["/no/such/program"], "/no/such/program cannot be started (ENOENT)"],
    ["that does not end", ["sleep", "30"], "sleep did not end within 1 s"],
    ["that says too much", ["head", "-c", "70000", "/dev/zero"], "head printed more than 65536 bytes"],
    ["that was killed", ["sh", "-c", "kill -9 $$"], "sh ended with SIGKILL"],
  ] as const)("a command %s fails", async (_, command, fault) => {
    expect(await commands.run([...command] as [string], { input: "x", complaint: "included", signal: never })).toEqual({
      output: "",
      fault,
    });
  });

  it.each([
    ["that stays in its process group", "sleep 30"],
    ["that left its process group", "setsid sleep 30"],
    ["that takes no TERM", "trap '' TERM; while :; do sleep 30; done"],
  ])(
    "a command ends at its timeout despite a background process %s and keeps the output open",
    async (_, background) => {
      const pidFile = join(folder, `pid-of-${background.length}`);
      const script = `(${background}) & echo $! > ${pidFile}; echo started`;
      const startMs = performance.now();
      const { fault } = await commands.run(["sh", "-c", script], { input: "", complaint: "included", signal: never });
      expect(fault).toBe("sh ended, but a process that it started kept its output open for 1 s");
      expect(performance.now() - startMs).toBeLessThan(10_000);
      if (background.startsWith("setsid")) return;
      const pid = Number(readFileSync(pidFile, "utf8"));
      await until("the process is gone", () => !isAlive(pid));
    },
  );

  it("a command that times out is killed with all its child processes", async () => {
    const pidFile = join(folder, "pid-of-child");
    const script = `sleep 30 & echo $! > ${pidFile}; wait`;
    const { fault } = await commands.run(["sh", "-c", script], { input: "", complaint: "included", signal: never });
    expect(fault).toBe("sh did not end within 1 s");
    await until("the process is gone", () => !isAlive(Number(readFileSync(pidFile, "utf8"))));
  });

  it("a command is stopped when the process stops", async () => {
    const stop = new AbortController();
    const running = commands.run(["sleep", "30"], { input: "", complaint: "included", signal: stop.signal });
    stop.abort(new Error("this process is stopping"));
    await expect(running).rejects.toThrow("this process is stopping");
  });
});

const what = {
  rotation: "a",
  rotationId: "t-1",
  profile: "default",
  credentialsId: "a",
  type: "psk",
  startedAtMs: 0,
  secrets: { key: new Secret("the value") },
  constants: { user: "me" },
  field: "key",
};

describe("Kubernetes Secrets as sinks", () => {
  const sink = { kubernetesSecret: { name: "simfleet", key: "auth-key" } } as const;

  /** An API server of Kubernetes that gives one answer to all, and keeps what it was asked. */
  async function server(status: number) {
    const authority = createAuthority();
    const asked: { method: string | undefined; url: string | undefined; headers: object; body: string }[] = [];
    const listening = createServer(authority.issue("kubernetes", ["127.0.0.1"]), (request, response) => {
      void textOf(request).then((body) => {
        asked.push({ method: request.method, url: request.url, headers: request.headers, body });
        return response.writeHead(status).end("{}");
      });
    }).listen(0, "127.0.0.1");
    await once(listening, "listening");
    onTestFinished(() => void listening.close());
    const mounted = temporaryFolder();
    for (const [name, content] of Object.entries({ token: "t0ken\n", namespace: "fleet", "ca.crt": authority.cert })) {
      writeFileSync(join(mounted, name), content);
    }
    const { port } = listening.address() as AddressInfo;
    const address = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(port) };
    return { asked, deps: { ...harness, pod: { env: address, folder: mounted } } };
  }

  it("the key of the Secret is replaced with the token of the pod, and no other key", async () => {
    const { asked, deps } = await server(200);
    await handOver(sink, what, deps, never);
    expect(asked).toEqual([
      {
        method: "PATCH",
        url: "/api/v1/namespaces/fleet/secrets/simfleet",
        headers: expect.objectContaining({
          authorization: "Bearer t0ken",
          "content-type": "application/merge-patch+json",
        }) as unknown,
        body: JSON.stringify({ data: { "auth-key": Buffer.from("the value").toString("base64") } }),
      },
    ]);
  });

  it.each([
    [403, true],
    [404, true],
    [409, false],
    [500, false],
  ])("an answer of %s is final: %s", async (status, isFinal) => {
    const { deps } = await server(status);
    const thrown = await handOver(sink, what, deps, never).catch((error: unknown) => error);
    expect(thrown).toMatchObject({
      code: "SINK_FAILED",
      isFinal,
      message: expect.stringContaining(`returned ${status}`),
    });
  });

  it("a process that runs in no pod says so, and a server of another authority is not told the secret", async () => {
    const outside = await handOver(sink, what, harness, never).catch((error: unknown) => error);
    expect(outside).toMatchObject({ message: expect.stringContaining("does not run in a pod"), isFinal: false });
    const { asked, deps } = await server(200);
    writeFileSync(join(deps.pod.folder, "ca.crt"), createAuthority("another").cert);
    await expect(handOver(sink, what, deps, never)).rejects.toThrow(/Kubernetes Secret simfleet, key auth-key/);
    expect(asked).toEqual([]);
  });
});

describe("file sinks", () => {
  it("a file sink replaces its file with owner-only access and leaves no temporary files", async () => {
    const inside = temporaryFolder();
    const path = join(inside, "key");
    writeFileSync(path, "before", { mode: 0o644 });
    await handOver({ file: path }, what, harness, never);
    await handOver({ file: path }, what, harness, never);
    expect([readFileSync(path, "utf8"), readdirSync(inside)]).toEqual(["the value", ["key"]]);
    await handOver({ file: path }, { ...what, field: undefined }, harness, never);
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({ key: "the value", user: "me" });
  });

  it("a file sink without its folder fails permanently", async () => {
    const sink = { file: join(folder, "no", "key") } as const;
    const thrown = await handOver(sink, what, harness, never).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(SinkError);
    expect(thrown).toMatchObject({ isFinal: true, message: expect.stringContaining("(ENOENT)") });
  });

  it("sinks have distinct keys, and their names show no arguments or URL paths", () => {
    const sinks: Sink[] = [
      { command: ["/bin/store", "token=abc"] },
      { command: ["/bin/store", "token=abd"] },
      { webhook: { url: "https://x.example/hooks/T0K3N", secretFile: "/s", allowPrivate: false } },
    ];
    expect(new Set(sinks.map(sinkKey)).size).toBe(3);
    expect(sinks.map(sinkName)).toEqual(["command /bin/store", "command /bin/store", "webhook x.example"]);
  });
});

describe("Credential Set references", () => {
  const group = {
    groupId: "g-1",
    configuration: {
      SoracomFunnel: { enabled: true, credentialsId: "psk-1", destination: { service: "psk-1" } },
      SoracomBeam: {
        "http://beam": { headers: [{ deep: { $credentialsId: "psk-1" } }], $credentialsId: "psk-#{imsi}" },
      },
      SoracomFunk: { credentialsId: "psk-10" },
      SoracomAir: "odd",
    },
  };

  it("a reference is found at any depth and only by its key", () => {
    expect(referencesIn(group, "psk-1")).toEqual([
      { groupId: "g-1", namespace: "SoracomFunnel", how: "id" },
      { groupId: "g-1", namespace: "SoracomBeam", how: "id" },
      { groupId: "g-1", namespace: "SoracomBeam", how: "placeholder" },
    ]);
    expect(referencesIn({ groupId: "g" }, "psk-1")).toEqual([]);
  });

  it("renaming a reference changes nothing else in its entry and omits entries without it", () => {
    expect(entriesRenamed(group, "psk-1", "psk-2")).toEqual([
      { namespace: "SoracomFunnel", entries: { credentialsId: "psk-2" } },
      {
        namespace: "SoracomBeam",
        entries: {
          "http://beam": { headers: [{ deep: { $credentialsId: "psk-2" } }], $credentialsId: "psk-#{imsi}" },
        },
      },
    ]);
  });

  const meanings: [name: string, id: string, may: boolean][] = [
    ["psk-#{imsi}", "psk-001", true],
    ["psk-#{imsi}", "psk-", true],
    ["#{tag.a}", "anything", true],
    ["a#{x}b#{y}c", "a-b-c", true],
    ["a#{x}b#{y}c", "a-c-b", false],
    ["a#{x}a", "a", false],
    ["psk-#{imsi}.v1", "psk-001.v2", false],
    ["pskX#{imsi}", "psk.001", false],
    ["psk-1", "psk-1", false],
    ["psk-#{imsi}", "psk-a-20261125", false],
    ["psk-#{imsi}", "psk-a", false],
    ["psk-#{simId}-x", "psk-8942-x", true],
    ["psk-#{deviceName}", "psk-a-20261125", true],
  ];

  it.each(meanings)("the placeholder name %s may match %s: %s", (name, id, may) => {
    expect(mayMean(name, id)).toBe(may);
  });

  it("a name with a thousand placeholders is matched quickly", () => {
    expect(mayMean("#{a}a".repeat(1_000), "a".repeat(100))).toBe(false);
  });
});
