/** The parts of the file that hold structures by name, for the loader and the documentation. */
import { authKeysSection } from "./auth-keys.ts";
import { automationsSection } from "./automations.ts";
import { freezesSection } from "./freezes.ts";
import { tokensSection } from "./http-access.ts";
import { rotationsSection } from "./rotations.ts";
import { schedulesSection } from "./schedules.ts";
import { webhooksSection } from "./webhooks.ts";

export const sections = [
  rotationsSection,
  authKeysSection,
  schedulesSection,
  automationsSection,
  freezesSection,
  webhooksSection,
  tokensSection,
];
