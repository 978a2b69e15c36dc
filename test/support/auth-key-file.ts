/** What a file holds that gives id and secret of an AuthKey at once. */
export function authKeyFileText({ authKeyId, authKey }: { authKeyId: string; authKey: string }): string {
  return `${JSON.stringify({ authKeyId, authKey })}\n`;
}
