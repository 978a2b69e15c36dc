/**
 * The credentials of an account: AuthKeys, Credential Sets, and the status of each rotation. Secret values are never
 * shown.
 */
import type { JSX } from "preact";
import { View } from "../../parts/view.tsx";
import { credentialsText as text } from "../../strings/credentials.ts";
import { viewTitles } from "../../strings/shell.ts";
import { AuthKeys } from "./auth-keys.tsx";
import { CredentialSets } from "./credential-sets.tsx";
import { Rotations } from "./rotations.tsx";

export function Credentials(): JSX.Element {
  return (
    <View title={viewTitles.credentials} says={text.hint}>
      <Rotations />
      <AuthKeys />
      <CredentialSets />
    </View>
  );
}
