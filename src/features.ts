/** All features, in the order of the help; a section may name entries of earlier ones. */
import type { AnyFeature } from "#cli/feature.ts";
import { events } from "#events/feature.ts";
import { audit } from "#jobs/audit/feature.ts";
import { authKeys } from "#jobs/authkeys/feature.ts";
import { automations } from "#jobs/automations/feature.ts";
import { credentials } from "#jobs/credentials/feature.ts";
import { dropFolder } from "#jobs/drop-folder/feature.ts";
import { freezes } from "#jobs/freezes/feature.ts";
import { inventory } from "#jobs/inventory/feature.ts";
import { operations } from "#jobs/operations/feature.ts";
import { profiles } from "#jobs/profiles/feature.ts";
import { quota } from "#jobs/quota/feature.ts";
import { runs } from "#jobs/runs/feature.ts";
import { schedules } from "#jobs/schedules/feature.ts";
import { storage } from "#jobs/storage/feature.ts";
import { tokens } from "#jobs/tokens/feature.ts";
import { usage } from "#jobs/usage/feature.ts";
import { webhooks } from "#jobs/webhooks/feature.ts";

export const features: readonly AnyFeature[] = [
  profiles,
  runs,
  operations,
  inventory,
  usage,
  credentials,
  authKeys,
  schedules,
  automations,
  dropFolder,
  freezes,
  events,
  webhooks,
  quota,
  storage,
  tokens,
  audit,
];
