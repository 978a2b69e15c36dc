/** What answers the route of storage. */
import { type Endpoint, endpoint } from "#contract/route.ts";
import { showStorage } from "./contract.ts";
import type { StorageService } from "./service.ts";

export function storageEndpoints(storage: StorageService): readonly Endpoint[] {
  return [endpoint(showStorage, () => storage.report())];
}
