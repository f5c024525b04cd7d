import { errorText } from '../../../src/common/errors.ts';
import type { PageAction } from '../../../src/protocol/page.ts';
import type { Host } from '../../host/host.ts';
import { say } from './notice.tsx';

const DONE: Readonly<Record<string, string>> = { copy: 'Copied', link: 'Link copied', save: 'Saved' };

/** Asks the host for an action, and shows for a moment that it is done, or why it failed. */
export function actAndSay(host: Host, action: PageAction): void {
  const done = DONE[action.do];
  host.act(action).then(
    () => {
      if (done !== undefined) say(done);
    },
    (error: unknown) => say(errorText(error)),
  );
}
