/** The part of the hall that the control API alone needs: the fleet at a glance, and what is remembered of requests. */
import type { Redis } from "ioredis";
import type { Lifecycle } from "#core/lifecycle.ts";
import type { Clock } from "#core/time.ts";
import { QueueBoard } from "#queue/board.ts";
import type { Keys } from "#redis/keys.ts";
import { AuditDesk } from "#runs/audit-desk.ts";
import { FleetDesk } from "#runs/fleet-desk.ts";
import type { SimDesk } from "#runs/sim-desk.ts";
import { AuditLog } from "#store/audit-log.ts";
import { FleetHistory } from "#store/fleet-history.ts";
import { Idempotency } from "#store/idempotency.ts";

export class ControlParts {
  readonly fleet: FleetDesk;
  readonly audit: AuditDesk;
  readonly idempotency: Idempotency;
  readonly queues: QueueBoard;

  constructor(house: {
    redis: Redis;
    keys: Keys;
    clock: Clock;
    connect: (name: string) => Redis;
    sims: SimDesk;
    lifecycle: Lifecycle;
    /** How long the record of changes is kept. */
    auditKeepMs: number;
  }) {
    this.fleet = new FleetDesk({ ...house, history: new FleetHistory(house) });
    this.audit = new AuditDesk(new AuditLog({ ...house, keepMs: house.auditKeepMs }));
    this.idempotency = new Idempotency(house);
    this.queues = new QueueBoard(house);
    house.lifecycle.onStop("queue board", () => this.queues.close());
  }
}
