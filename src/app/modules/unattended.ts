/** The part of the composition root that builds unattended work: schedules, automations and the drop folder. */
import type { Config } from "#config/config.ts";
import type { Lifecycle } from "#core/lifecycle.ts";
import type { Clock } from "#core/time.ts";
import { FeedConsumer } from "#events/consumer.ts";
import type { Feed } from "#events/feed.ts";
import type { Automation } from "#fleet/automation.ts";
import { type Wording, keyColumnOf } from "#fleet/sim/sim.ts";
import { type AutomationDeps, actOn } from "#jobs/automations/work.ts";
import { DropFolderWatch } from "#jobs/drop-folder/watch.ts";
import { DropFolderWork } from "#jobs/drop-folder/work.ts";
import { type ScheduleContext, workOnSchedule } from "#jobs/schedules/work.ts";
import type { PoisonGuard } from "#engine/poison-guard.ts";
import type { Incident, Working } from "#engine/queue/working.ts";
import type { ProfileJobsOptions } from "#engine/queue/profile-queue.ts";
import { type ScheduleQueue, scheduleQueue } from "#jobs/schedules/queue.ts";
import type { AuthKeyService } from "#jobs/authkeys/service.ts";
import { AutomationService } from "#jobs/automations/service.ts";
import type { CredentialService } from "#jobs/credentials/service.ts";
import type { RunService } from "#jobs/runs/service.ts";
import { DroppedFileRuns } from "#jobs/drop-folder/file-runs.ts";
import { ScheduleService } from "#jobs/schedules/service.ts";
import type { SimService } from "#jobs/inventory/service.ts";
import { ServiceTasks } from "#jobs/tasks/tasks.ts";
import { automationLog } from "#jobs/automations/record.ts";
import type { Freezes } from "#jobs/freezes/record.ts";
import type { Inventory } from "#jobs/inventory/store/inventory.ts";
import type { StoreDeps } from "#engine/store-deps.ts";
import { scheduleLog } from "#jobs/schedules/record.ts";

/** A sync emits thousands of events at once: they become one run. */
const eventsAtOnce = 5_000;

interface AppDeps {
  readonly config: Config;
  readonly clock: Clock;
  readonly storeDeps: StoreDeps;
  readonly queueDeps: ProfileJobsOptions;
  readonly lifecycle: Lifecycle;
  readonly feed: Feed;
  readonly inventory: Inventory;
  readonly freezes: Freezes;
  readonly runService: RunService;
  readonly sims: SimService;
  readonly credentials: CredentialService;
  readonly authKeys: AuthKeyService;
  readonly wordingOf: (profile: string) => Wording;
  readonly guard: Pick<PoisonGuard, "run">;
}

export class Unattended {
  readonly schedules: ScheduleService;
  readonly automations: AutomationService;
  readonly #appDeps: AppDeps;
  readonly #scheduleQueue: ScheduleQueue;
  readonly #scheduleContext: ScheduleContext;
  readonly #automationDeps: AutomationDeps;

  constructor(appDeps: AppDeps) {
    const { config, clock, storeDeps, queueDeps, lifecycle, freezes, guard } = appDeps;
    this.#appDeps = appDeps;
    const tasks = new ServiceTasks(appDeps);
    this.#scheduleQueue = scheduleQueue(queueDeps);
    lifecycle.onStop("schedule queue", () => this.#scheduleQueue.close());
    const log = scheduleLog(storeDeps);
    this.#scheduleContext = { log, clock, tasks, guard, freezeOf: (profile) => freezes.of(profile) };
    const operationOf = (name: string, profile: string) => appDeps.runService.operation(name, profile);
    this.schedules = new ScheduleService({
      log,
      queue: this.#scheduleQueue,
      clock,
      operationOf,
      schedules: config.schedules,
    });
    this.#automationDeps = {
      clock,
      tasks,
      guard,
      inventory: appDeps.inventory,
      log: automationLog(storeDeps),
      keyColumnOf: (profile) => keyColumnOf(appDeps.wordingOf(profile)),
      operationOf,
    };
    const { automations } = config;
    this.automations = new AutomationService({ deps: this.#automationDeps, feed: appDeps.feed, automations });
  }

  /** Runs an automation until stopped; each automation follows the feed independently. */
  consumeAutomation(automation: Automation, onIncident: (incident: Incident) => void): Promise<FeedConsumer> {
    const { storeDeps, feed, clock, queueDeps } = this.#appDeps;
    return FeedConsumer.start({
      redis: storeDeps.redis,
      keys: storeDeps.keys,
      connect: queueDeps.connect,
      feed,
      clock,
      name: `automation-${automation.name}`,
      atOnce: eventsAtOnce,
      handle: (events) => actOn(automation, events, this.#automationDeps),
      onIncident: (message) => onIncident({ message }),
    });
  }

  /** Turns the files of the drop folder into runs until stopped; undefined if no folder is configured. */
  watchDropFolder(onIncident: (incident: Incident) => void): DropFolderWatch | undefined {
    const { config, clock, feed, runService, guard } = this.#appDeps;
    const { dropFolder: folder } = config;
    if (folder === undefined) return undefined;
    const emit = (message: string): void => onIncident({ message });
    const runs = new DroppedFileRuns({ runService, clock, folder });
    const work = new DropFolderWork({ folder, runs, feed, clock, guard, onIncident: emit });
    return new DropFolderWatch(work, { clock, onIncident: emit });
  }

  /** Runs the tasks of all schedules at their times until stopped. */
  consumeSchedules(onIncident: (incident: Incident) => void): Promise<Working> {
    const { config, feed } = this.#appDeps;
    return this.#scheduleQueue.consume({
      schedules: config.schedules,
      poll: (schedule, signal) => workOnSchedule(schedule, this.#scheduleContext, signal),
      onLate: async ({ name, profile }, dueMs) => {
        const due = new Date(dueMs).toISOString();
        onIncident({ message: `the queue did not trigger ${name} at ${due}; its trigger is set again` });
        await feed.emit({ type: "schedule.late", profile, fields: { schedule: name, due } });
      },
      onIncident,
    });
  }
}
