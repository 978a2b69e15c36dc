/** The texts about failed requests: what happened, and what to do. */
export const problemsText = {
  noAnswer: "The worker does not answer.",
  noAnswerAdvice: "Is the worker running? Run simfleet check on its machine. This page retries automatically.",
  roleAdvice: "Ask for a token with a larger role: simfleet tokens create --role operator",
  tooManyRequests: "Too many requests. This page retries automatically.",
  noRedis: "The worker cannot reach Redis. Nothing is lost; work resumes when Redis is back.",
  proxy: "A proxy in between got no answer from the worker.",
  seeLog: "The worker's log has the cause.",
  badToken: "The token is missing, wrong or no longer valid.",
  notAllowed: "The role of this token does not allow it.",
  notFound: "Not found.",
  tooLarge: "The file is larger than the server accepts.",
  status: (status: number) => `The server answered with status ${status}.`,
  needsRole: (needed: string, own: string) => `Needs the role ${needed}; yours is ${own}.`,
  signedOut: (reason: string) => `You were signed out: ${reason}`,
  notDescribed: (setting: string) =>
    `The deployment of this installation does not describe how to read it (${setting}).`,
} as const;
