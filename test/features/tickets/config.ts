/** The section of tickets: queues. */
import { z } from "zod";
import { section, setting } from "#config/setting.ts";
import { profileName, text } from "#config/value-types.ts";

export const queues = {
  key: "tickets",
  schema: section(
    z.strictObject({
      about: setting(text("a sentence", /^.+$/), "What the queue is for."),
      closesAnswered: setting(z.boolean().default(false), "Whether a worker closes answered tickets."),
      profile: setting(profileName.default("default"), "Account of its tickets."),
    }),
    "Queues of tickets, by a name of your choice.",
  ),
};
