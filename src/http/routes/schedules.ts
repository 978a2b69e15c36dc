/** Schedules: tasks at times. */
import { z } from "zod";
import type { ScheduleReport } from "#jobs/schedules/service.ts";
import type { Api, ControlDeps } from "../deps.ts";
import { once } from "../once.ts";
import { actorOf } from "../auth/principal.ts";
import { id, instant, list, noBody, nothing, pageOf, shapeOf } from "../shape.ts";

type Running = NonNullable<ScheduleReport["running"]>;
type Last = NonNullable<ScheduleReport["last"]>;

const scheduleReport = shapeOf<ScheduleReport>()({
  name: z.string(),
  job: z.string(),
  profile: z.string(),
  cron: z.string(),
  timezone: z.string(),
  state: z.enum(["active", "paused"]),
  next: list(z.object({ at: instant, local: z.string() })),
  running: shapeOf<Running>()({
    firing: z.string(),
    startedAt: instant,
    ref: z.string().nullable(),
    fault: z.string().nullable(),
  }).nullable(),
  isQueued: z.boolean(),
  last: shapeOf<Last>()({
    firing: z.string(),
    dueAt: instant,
    startedAt: instant,
    finishedAt: instant,
    seconds: z.number(),
    result: z.enum(["done", "failed", "skipped", "missed", "cancelled"]),
    reason: z.string().nullable(),
    ref: z.string().nullable(),
  }).nullable(),
  overlap: z.string(),
  missed: z.string(),
  frozen: z.string(),
  jitterSeconds: z.number(),
});

const tags = ["schedules"];
const ofSchedule = z.strictObject({ name: id });

export function scheduleRoutes(api: Api, deps: ControlDeps): void {
  const { schedules } = deps.app;
  api.get(
    "/schedules",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "List schedules: next times, last result, task in progress", tags },
        ...{ querystring: nothing, response: { 200: pageOf("schedules", scheduleReport) } },
      },
    },
    async () => ({ schedules: await schedules.list(), nextCursor: null }),
  );
  api.get(
    "/schedules/:name",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "Get a schedule", tags },
        ...{ params: ofSchedule, querystring: nothing, response: { 200: scheduleReport } },
      },
    },
    async ({ params }) => schedules.show(params.name),
  );
  addSteps(api, deps);
}

function addSteps(api: Api, deps: ControlDeps): void {
  const { schedules } = deps.app;
  const steps = {
    pause: { summary: "Pause a schedule", take: schedules.pause.bind(schedules) },
    resume: { summary: "Resume a schedule from its next time on", take: schedules.resume.bind(schedules) },
  } as const;
  for (const [step, { summary, take }] of Object.entries(steps)) {
    api.post(`/schedules/:name/${step}`, { config: { role: "operator" }, schema: ofStep(summary) }, async (request) =>
      take(request.params.name, actorOf(request.principal)),
    );
  }
  api.post(
    "/schedules/:name/trigger",
    { config: { role: "operator" }, schema: ofStep("Have its task done now") },
    async (request, reply) => {
      const { name } = request.params;
      return once(
        deps,
        { request, reply },
        {
          status: 202,
          newRef: () => name,
          make: () => schedules.trigger(name, { by: actorOf(request.principal) }),
          locationOf: () => `/v1/schedules/${name}`,
        },
      );
    },
  );
}

function ofStep(summary: string) {
  const answers = { 200: scheduleReport, 202: scheduleReport };
  return { ...{ summary, tags }, params: ofSchedule, querystring: nothing, body: noBody, response: answers };
}
