// Starts a simulated platform, authenticates, and counts the SIMs of the first page.
import { startSandbox } from "simfleet/sandbox";

const sandbox = await startSandbox({ sims: 25 });
try {
  const { url, authKeyId, authKey } = sandbox;
  const answer = await fetch(`${url}/v1/auth`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ authKeyId, authKey }),
  });
  const { apiKey, token } = (await answer.json()) as { apiKey: string; token: string };
  const list = await fetch(`${url}/v1/sims?limit=10`, {
    headers: { "x-svc-api-key": apiKey, "x-svc-token": token },
  });
  const sims = (await list.json()) as { simId: string }[];
  console.log(`${sims.length} of ${sandbox.simIds().length} SIMs, the first is ${sims[0]?.simId}.`);
} finally {
  await sandbox.close();
}
