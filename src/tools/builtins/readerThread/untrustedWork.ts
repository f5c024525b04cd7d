import type { Match, UntrustedWork } from '../../../rollout/ports.ts';
import { argumentProblems, canBeSlow } from '../../../rollout/tools/schemaCheck.ts';
import { runInThread } from './pool.ts';

/** Searches texts and checks arguments in reader threads. Checks that are always fast run here. */
export const untrustedWork: UntrustedWork = {
  async search(search, signal) {
    const { response } = await runInThread({ ...search, kind: 'search' }, signal);
    return response as Match | null; // from our own thread
  },
  async argumentProblems(schema, args, signal) {
    if (!canBeSlow(schema)) return argumentProblems(schema, args);
    const { response } = await runInThread({ kind: 'arguments', schema, args }, signal);
    return (response as string | null) ?? undefined; // from our own thread
  },
};
