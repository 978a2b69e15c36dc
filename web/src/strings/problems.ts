/** The texts about failed requests: what happened, and what to do. */
export const problemsText = {
  noAnswer: "The worker is not responding.",
  noAnswerAdvice:
    "Check that it is running: simfleet check on its machine shows problems. This page retries automatically.",
  roleAdvice: "Ask an admin for a token with another role: simfleet tokens create --name NAME --role operator",
  tooManyRequests: "Too many requests. This page retries automatically.",
  noRedis: "The worker cannot reach Redis. Nothing is lost; work resumes when Redis is back.",
  proxy: "A proxy in front of the worker got no response from it.",
  seeLog: "See the worker's log for the cause.",
  badToken: "The token is missing, invalid or expired.",
  notAllowed: "The role of this token does not allow this.",
  notFound: "Not found.",
  tooLarge: "The file is larger than the worker accepts.",
  status: (status: number) => `The worker responded with status ${status}.`,
  needsRole: (needed: string, own: string) => `Requires the role ${needed}; yours is ${own}.`,
  signedOut: (reason: string) => `You were signed out: ${reason}`,
  notDescribed: (setting: string) => `Not available: the deployment does not define ${setting}.`,
} as const;
