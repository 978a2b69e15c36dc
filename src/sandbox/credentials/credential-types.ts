/**
 * The types of Credential Sets that a public deployment documents, and the fields that `credentials` then requires, all
 * of them strings. A type that is not listed is accepted with any content.
 */
const fieldsByType: Readonly<Record<string, readonly string[]>> = {
  psk: ["key"],
  x509: ["key", "cert", "ca"],
  "aws-credentials": ["accessKeyId", "secretAccessKey"],
  "aws-iam-role-credentials": ["roleArn", "externalId"],
  "azure-credentials": ["policyName", "key"],
  "azureIoT-credentials": ["sharedAccessKeyName", "sharedAccessKey"],
  "googleIoT-credentials": ["projectId", "region", "registryId", "deviceId", "algorithm", "privateKey"],
  "google-service-account-json": ["credentials"],
  "pubnub-credentials": ["pubKey", "subKey"],
  "api-token-credentials": ["token"],
  "username-password-credentials": ["username", "password"],
};

/** Which types the sandbox validates: `psk` only, the one type that the interface shows, or every known type. */
export type TypeRules = "psk" | "known";

export function holdsFieldsOf(type: string, credentials: Readonly<Record<string, unknown>>, rules: TypeRules): boolean {
  if (rules === "psk" && type !== "psk") return true;
  const fields = Object.hasOwn(fieldsByType, type) ? (fieldsByType[type] ?? []) : [];
  if (!fields.every((field) => typeof credentials[field] === "string")) return false;
  return type !== "google-service-account-json" || isJson(String(credentials["credentials"]));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
