/** The part of the composition root that only the control API needs: the fleet overview and the record of requests. */
import type { Redis } from "ioredis";
import type { Lifecycle } from "#core/lifecycle.ts";
import type { Clock } from "#core/time.ts";
import { QueueDepths } from "#engine/queue/queue-depths.ts";
import type { Keys } from "#redis/keys.ts";
import { AuditService } from "#jobs/audit/service.ts";
import { FleetService } from "#jobs/inventory/fleet-service.ts";
import type { SimService } from "#jobs/inventory/service.ts";
import { AuditLog } from "#jobs/audit/record.ts";
import { FleetHistory } from "#jobs/inventory/fleet-history.ts";
import { Idempotency } from "#engine/idempotency.ts";

export class ControlParts {
  readonly fleet: FleetService;
  readonly audit: AuditService;
  readonly idempotency: Idempotency;
  readonly queues: QueueDepths;

  constructor(deps: {
    redis: Redis;
    keys: Keys;
    clock: Clock;
    connect: (name: string) => Redis;
    sims: SimService;
    lifecycle: Lifecycle;
    /** Retention of the audit log. */
    auditKeepMs: number;
  }) {
    this.fleet = new FleetService({ ...deps, history: new FleetHistory(deps) });
    this.audit = new AuditService(new AuditLog({ ...deps, keepMs: deps.auditKeepMs }));
    this.idempotency = new Idempotency(deps);
    this.queues = new QueueDepths(deps);
    deps.lifecycle.onStop("queue board", () => this.queues.close());
  }
}
