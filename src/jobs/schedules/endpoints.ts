/** What answers the routes of schedules. */
import { creating, type Endpoint, endpoint } from "#contract/route.ts";
import * as routes from "./contract.ts";
import type { ScheduleService } from "./service.ts";

export function scheduleEndpoints(schedules: ScheduleService): readonly Endpoint[] {
  return [
    endpoint(routes.listSchedules, async () => ({ schedules: await schedules.list(), nextCursor: null })),
    endpoint(routes.showSchedule, ({ params }) => schedules.show(params.name)),
    endpoint(routes.pauseSchedule, ({ params, by }) => schedules.pause(params.name, by)),
    endpoint(routes.resumeSchedule, ({ params, by }) => schedules.resume(params.name, by)),
    creating(routes.triggerSchedule, ({ params: { name }, by }) => ({
      newId: () => name,
      create: () => schedules.trigger(name, { by }),
      pathOf: () => `/schedules/${name}`,
    })),
  ];
}
