/** The part of the hall that builds what works while nobody looks: tasks at times, and when something happens. */
import type { Config } from "#config/config.ts";
import type { Lifecycle } from "#core/lifecycle.ts";
import type { Clock } from "#core/time.ts";
import { FeedConsumer } from "#events/consumer.ts";
import type { Feed } from "#events/feed.ts";
import type { Automation } from "#fleet/automation.ts";
import { type Wording, keyColumnOf } from "#fleet/sim.ts";
import { type AutomationHouse, actOn } from "#jobs/automations/act.ts";
import { DropFolderWatch } from "#jobs/drop-folder/watch.ts";
import { DropFolderWork } from "#jobs/drop-folder/work.ts";
import { type ScheduleContext, workOnSchedule } from "#jobs/schedules/work.ts";
import type { Trouble, Working } from "#queue/consumer.ts";
import type { ProfileJobsOptions } from "#queue/profile-jobs.ts";
import { ScheduleQueue } from "#queue/schedules.ts";
import type { AuthKeyDesk } from "#runs/auth-key-desk.ts";
import { AutomationDesk } from "#runs/automation-desk.ts";
import type { CredentialDesk } from "#runs/credential-desk.ts";
import type { RunDesk } from "#runs/desk.ts";
import { DroppedFileRuns } from "#runs/file-runs.ts";
import { ScheduleDesk } from "#runs/schedule-desk.ts";
import type { SimDesk } from "#runs/sim-desk.ts";
import { DeskTasks } from "#runs/tasks.ts";
import { AutomationLog } from "#store/automation-log.ts";
import type { Freezes } from "#store/freezes.ts";
import type { Inventory } from "#store/inventory.ts";
import type { InventoryTerms } from "#store/inventory-script.ts";
import { ScheduleLog } from "#store/schedule-log.ts";

/** A sync tells of thousands of SIMs at once: they become one run. */
const eventsAtOnce = 5_000;

interface Hall {
  readonly config: Config;
  readonly clock: Clock;
  readonly terms: InventoryTerms;
  readonly queueHouse: ProfileJobsOptions;
  readonly lifecycle: Lifecycle;
  readonly feed: Feed;
  readonly inventory: Inventory;
  readonly freezes: Freezes;
  readonly desk: RunDesk;
  readonly sims: SimDesk;
  readonly credentials: CredentialDesk;
  readonly authKeys: AuthKeyDesk;
  readonly wordingOf: (profile: string) => Wording;
  readonly bucketOf: (profile: string) => string;
}

export class Unattended {
  readonly schedules: ScheduleDesk;
  readonly automations: AutomationDesk;
  readonly #hall: Hall;
  readonly #scheduleQueue: ScheduleQueue;
  readonly #scheduleContext: ScheduleContext;
  readonly #automationHouse: AutomationHouse;

  constructor(hall: Hall) {
    const { config, clock, terms, queueHouse, lifecycle, freezes } = hall;
    this.#hall = hall;
    const tasks = new DeskTasks({ ...hall, speedClasses: config.deployment.speedClasses });
    this.#scheduleQueue = new ScheduleQueue(queueHouse);
    lifecycle.onStop("schedule queue", () => this.#scheduleQueue.close());
    const log = new ScheduleLog(terms);
    this.#scheduleContext = { log, clock, tasks, freezeOf: (profile) => freezes.of(profile) };
    this.schedules = new ScheduleDesk({ log, queue: this.#scheduleQueue, clock, schedules: config.schedules });
    this.#automationHouse = {
      ...{ clock, tasks, inventory: hall.inventory, log: new AutomationLog(terms) },
      keyColumnOf: (profile) => keyColumnOf(hall.wordingOf(profile)),
    };
    const { automations } = config;
    this.automations = new AutomationDesk({ house: this.#automationHouse, feed: hall.feed, automations });
  }

  /** Acts on what happens as an automation says until it is stopped: each follows the feed by itself. */
  consumeAutomation(automation: Automation, onTrouble: (trouble: Trouble) => void): Promise<FeedConsumer> {
    const { terms, feed, clock, queueHouse } = this.#hall;
    return FeedConsumer.start({
      ...{ redis: terms.redis, keys: terms.keys, connect: queueHouse.connect, feed, clock },
      name: `automation-${automation.name}`,
      atOnce: eventsAtOnce,
      handle: (events) => actOn(automation, events, this.#automationHouse),
      onTrouble: (message) => onTrouble({ message }),
    });
  }

  /** Makes the files of the drop folder runs until it is stopped; undefined where no folder is configured. */
  watchDropFolder(onTrouble: (trouble: Trouble) => void): DropFolderWatch | undefined {
    const { config, clock, feed, desk, wordingOf, bucketOf } = this.#hall;
    const { dropFolder: folder, deployment } = config;
    if (folder === undefined) return undefined;
    const tell = (message: string): void => onTrouble({ message });
    const { profile } = folder;
    const place = { wording: wordingOf(profile), bucket: bucketOf(profile), speedClasses: deployment.speedClasses };
    const runs = new DroppedFileRuns({ desk, clock, folder, ...place });
    const work = new DropFolderWork({ folder, runs, feed, clock, onTrouble: tell });
    return new DropFolderWatch(work, { clock, onTrouble: tell });
  }

  /** Does the tasks of all schedules at their times until it is stopped. */
  consumeSchedules(onTrouble: (trouble: Trouble) => void): Promise<Working> {
    const { config, feed } = this.#hall;
    return this.#scheduleQueue.consume({
      schedules: config.schedules,
      look: (schedule) => workOnSchedule(schedule, this.#scheduleContext),
      onLate: async ({ name, profile }, dueMs) => {
        const due = new Date(dueMs).toISOString();
        onTrouble({ message: `the queue's clock had not told of ${name} at ${due}; it is set again` });
        await feed.tell({ type: "schedule.late", profile, fields: { schedule: name, due } });
      },
      onTrouble,
    });
  }
}
