/** Content of a file with both id and secret of an AuthKey. */
export function authKeyFileText({ authKeyId, authKey }: { authKeyId: string; authKey: string }): string {
  return `${JSON.stringify({ authKeyId, authKey })}\n`;
}
