/** What routes work with. */

import type { Log } from '../common/log.ts';
import type { Submission } from '../config/submission.ts';
import type { ServerInfo } from '../protocol/client.ts';
import type { Store } from '../store/store.ts';
import type { Tokens } from './access/tokens.ts';
import type { Secrets } from './batches/secrets.ts';
import type { Submissions } from './batches/submissions.ts';
import type { Supervisor } from './batches/supervisor.ts';
import type { Changes } from './changes.ts';
import type { Leasing } from './workers/leasing.ts';

export interface Services {
  readonly store: Store;
  readonly changes: Changes;
  readonly submissions: Submissions;
  readonly secrets: Secrets;
  readonly supervisor: Supervisor;
  readonly leasing: Leasing;
  readonly tokens: Tokens;
  readonly log: Log;
  /** Throws `config` when the workers this server starts do not have what the tools of a new batch need. */
  readonly checkNeeds: (submission: Submission) => void;
  /** It has an executor: workers do not come by themselves. */
  readonly startsWorkers: boolean;
  readonly info: () => Promise<ServerInfo>;
  /** The server ends: whoever can should go elsewhere. */
  readonly draining: () => boolean;
}
