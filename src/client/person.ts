import { userInfo } from 'node:os';

/** Returns the name under which the user's verdicts are recorded: `ROLLOUT_USER`, else the name of their account. */
export function personName(env: NodeJS.ProcessEnv): string {
  const set = env['ROLLOUT_USER'];
  if (set !== undefined && set !== '') return set;
  try {
    return userInfo().username;
  } catch {
    return 'user'; // the account has no name, as in some containers
  }
}
