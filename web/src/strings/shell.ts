/** The texts of the frame around all pages. */
export const shellText = {
  missing: "There is no page at this address",
  missingHint: "Check the address, or continue here:",
} as const;
