import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { control } from '../../../src/client/commands/control.ts';
import { StudioError } from '../../../src/common/errors.ts';
import { newId } from '../../../src/common/ids.ts';
import type { Api } from '../../../src/protocol/api.ts';
import type { BatchCommand } from '../../../src/protocol/commands.ts';

/** A server that misses values of a batch until it gets them. */
function server(missing: readonly string[]) {
  const sent: BatchCommand[] = [];
  const api = {
    batch: (batch: string) => Promise.resolve({ batch }),
    commandBatch: (_batch: string, command: BatchCommand) => {
      sent.push(command);
      return command.args === undefined
        ? Promise.reject(new StudioError('config', 'No value was sent.', { details: { missing } }))
        : Promise.resolve({});
    },
  } as unknown as Api;
  return { api, sent };
}
const SIGNAL = new AbortController().signal;
const BATCH = newId('b');

describe('resume and retry', () => {
  it('send values again that the server no longer has, in a command of its own', async () => {
    for (const verb of ['resume', 'retry'] as const) {
      const { api, sent } = server(['KEY']);
      await control(api, BATCH, verb, { by: 'me', env: { KEY: 'k', OTHER: 'o' } }, SIGNAL);
      assert.deepEqual(
        sent.map(({ args }) => args),
        [undefined, { secrets: { KEY: 'k' } }],
      );
      assert.equal(new Set(sent.map(({ command }) => command)).size, 2, 'the first one has failed for good');
    }
  });

  it('name the variables that are not set', async () => {
    const { api } = server(['KEY', 'OTHER', 'THIRD']);
    await assert.rejects(control(api, BATCH, 'resume', { by: 'me', env: { KEY: 'k' } }, SIGNAL), {
      message: 'The server no longer has the values of OTHER and THIRD.',
    });
  });
});
