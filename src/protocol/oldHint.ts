import { z } from 'zod';

const oldError = z.looseObject({ mend: z.string(), hint: z.undefined().optional() });

/** Returns an error as it is sent now. Servers of version 0.1 and older sent its `hint` under the key `mend`. */
export function readOldHint(error: unknown): unknown {
  const old = oldError.safeParse(error);
  if (!old.success) return error;
  const { mend, ...rest } = old.data;
  return { ...rest, hint: mend };
}
