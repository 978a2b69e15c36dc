/**
 * The credentials of an account: AuthKeys, Credential Sets, and the status of each rotation. Secret values are never
 * shown.
 */
import type { JSX } from "preact";
import { View } from "../../parts/view.tsx";
import { viewTitles } from "../../pure/views.ts";
import { AuthKeys } from "./auth-keys.tsx";
import { CredentialSets } from "./credential-sets.tsx";
import { Rotations } from "./rotations.tsx";

export function Credentials(): JSX.Element {
  return (
    <View
      title={viewTitles.credentials}
      says="Credential Sets and AuthKeys, their age and use. Secrets are never shown."
    >
      <Rotations />
      <AuthKeys />
      <CredentialSets />
    </View>
  );
}
