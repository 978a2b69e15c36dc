/** Runs before each test file: the files of a worker share its memory, and a secret of one may be a word of another. */
import { liveSecrets, Secret } from "#core/secrets/secret.ts";

for (const value of liveSecrets()) {
  const secret = new Secret(value);
  while (liveSecrets().includes(value)) secret.forget();
}
