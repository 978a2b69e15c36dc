/** What a call of another program gets from the client: where it goes, and the pair that it goes with. */
import type { Address } from "./http/address.ts";

export interface Loan {
  readonly address: Address;
  /** The headers of the pair: name, value, name, value. They are for one call and are not kept. */
  readonly headers: readonly string[];
  /**
   * Reports the status of the answer.
   * @returns whether the call can be sent again with another pair: after a 401
   */
  end(status: number): boolean;
}
