/** The secrets of an account: AuthKeys, Credential Sets, and how each rotation stands. There is never a secret here. */
import type { JSX } from "preact";
import { View } from "../parts/view.tsx";
import { AuthKeys } from "./auth-keys.tsx";
import { CredentialSets } from "./credential-sets.tsx";
import { Rotations } from "./rotations.tsx";

export function Credentials(): JSX.Element {
  return (
    <View title="Credentials" says="What is there, how old it is, and who uses it. No secret is ever shown.">
      <Rotations />
      <AuthKeys />
      <CredentialSets />
    </View>
  );
}
