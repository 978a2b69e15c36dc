/** The record of a SIM as a public platform defines it, which the sandbox must keep to in the shape `soracom`. */
import { z } from "zod";

const status = z.enum(["ready", "active", "inactive", "standby", "suspended", "terminated"]);
const milliseconds = z
  .int()
  .min(Date.UTC(2010, 0, 1))
  .max(Date.UTC(2100, 0, 1));

const imei = z.string().regex(/^[0-9]{15}$/);

/** A SIM by the public definition of a platform. A field without a value is not there; null is none. */
export const publicRecord = z.strictObject({
  simId: z.string(),
  operatorId: z.string(),
  status,
  speedClass: z.string(),
  groupId: z.string().optional(),
  tags: z.record(z.string(), z.string()),
  type: z.enum(["euicc", "uicc", "virtual"]),
  moduleType: z.enum(["mini", "micro", "nano", "trio", "embedded", "virtual", "integrated", "profilePackage"]),
  createdTime: milliseconds,
  lastModifiedTime: milliseconds,
  expiryTime: milliseconds.optional(),
  expiryAction: z.enum(["doNothing", "deleteSession", "deactivate", "suspend", "terminate"]).optional(),
  imeiLock: z.strictObject({ imei }).optional(),
  terminationEnabled: z.boolean(),
  sessionStatus: z.strictObject({
    online: z.boolean(),
    imei: imei.optional(),
    imsi: z.string().optional(),
    lastUpdatedAt: milliseconds.optional(),
  }),
  previousSession: z.strictObject({ imei, imsi: z.string(), endedTime: milliseconds }).optional(),
  localInfo: z.record(z.string(), z.string()).optional(),
  activeProfileId: z.string(),
  renewalFeeStatusSetTime: milliseconds.optional(),
  capabilities: z.record(z.string(), z.boolean()),
  serialNumber: z.string().optional(),
  otaSerialNumber: z.string().optional(),
  lastLocationUpdateTime: milliseconds.optional(),
  profiles: z.record(
    z.string(),
    z.strictObject({
      iccid: z.string(),
      primaryImsi: z.string(),
      subscribers: z.record(
        z.string(),
        z.strictObject({
          imsi: z.string(),
          msisdn: z.string(),
          subscription: z.string(),
          status,
          bundles: z.array(z.string()).optional(),
        }),
      ),
      arcClientPeerPrivateKey: z.string(),
    }),
  ),
});
