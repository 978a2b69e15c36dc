/** A read of the platform that a person asks for: it spends a call, so that it is never made on its own. */
import { useState } from "preact/hooks";
import { ask } from "../ask.ts";
import { useAction } from "../parts/button.tsx";
import { problemFrom } from "../pure/problem.ts";

interface Reading<T> {
  readonly value: T | undefined;
  /** Why it cannot be read with this configuration. */
  readonly refused: string | undefined;
  readonly isBusy: boolean;
  readonly read: () => void;
}

export function useReading<T>(address: string): Reading<T> {
  const [value, setValue] = useState<T | undefined>();
  const [refused, setRefused] = useState<string | undefined>();
  const { isBusy, act } = useAction();
  const read = async (): Promise<undefined> => {
    try {
      setValue(await ask<T>(address));
    } catch (thrown) {
      const problem = problemFrom(thrown);
      if (problem.code !== "CONFIG_INVALID") throw problem;
      const undescribed = problem.faults.find(({ where }) => where.startsWith("operations."));
      setRefused(
        undescribed === undefined
          ? problem.message
          : `Not available: the deployment does not define ${undescribed.where}.`,
      );
    }
  };
  return { value, refused, isBusy, read: () => act(read) };
}
