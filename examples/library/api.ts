// Gives every SIM the slowest speed class. It waits when the quota is used up.
import { openClient } from "simfleet/api";

const client = openClient({
  endpoint: process.env.SIMFLEET_ENDPOINT_GLOBAL ?? "https://api.example.com",
  authKeyId: process.env.SIMFLEET_AUTH_KEY_ID ?? "",
  authKey: process.env.SIMFLEET_AUTH_KEY ?? "",
  redis: process.env.SIMFLEET_REDIS_URL ?? "redis://127.0.0.1:6379",
});
try {
  let changed = 0;
  for await (const { simId, speedClass } of client.sims()) {
    if (!simId || speedClass === "s1.minimum") continue;
    await client.setSpeedClass(simId, "s1.minimum");
    changed += 1;
  }
  console.log(`${changed} SIMs changed.`);
} finally {
  await client.close();
}
