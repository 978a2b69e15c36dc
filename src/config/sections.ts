/** The sections with named entries, for the loader and the documentation. */
import { authKeysSection } from "./sections/auth-keys.ts";
import { automationsSection } from "./sections/automations.ts";
import { freezesSection } from "./sections/freezes.ts";
import { tokensSection } from "./sections/http-access.ts";
import { rotationsSection } from "./sections/rotations.ts";
import { schedulesSection } from "./sections/schedules.ts";
import { webhooksSection } from "./sections/webhooks.ts";

export const sections = [
  rotationsSection,
  authKeysSection,
  schedulesSection,
  automationsSection,
  freezesSection,
  webhooksSection,
  tokensSection,
];
