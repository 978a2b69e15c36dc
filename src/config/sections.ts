/** The sections with named entries, for the loader and the documentation. */
import { authKeysSection } from "#jobs/authkeys/config.ts";
import { automationsSection } from "#jobs/automations/config.ts";
import { freezesSection } from "#jobs/freezes/config.ts";
import { tokensSection } from "./sections/http.ts";
import { rotationsSection } from "#jobs/credentials/config.ts";
import { schedulesSection } from "#jobs/schedules/config.ts";
import { webhooksSection } from "#jobs/webhooks/config.ts";

export const sections = [
  rotationsSection,
  authKeysSection,
  schedulesSection,
  automationsSection,
  freezesSection,
  webhooksSection,
  tokensSection,
];
