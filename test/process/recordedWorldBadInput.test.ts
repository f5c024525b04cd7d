/** Recorded worlds of recordings that other tools wrote badly. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { trial } from '../support/tauTrial.ts';
import { ofKind, Workspace } from '../support/testWorkspace.ts';
import { responses } from '../support/worldCalls.ts';

const QUESTION = 'call find {"n": 1}\ncall find {"n": 2}\nanswer done';

interface Trial {
  readonly traj: readonly { readonly role: string; readonly tool_call_id?: string }[];
}

/** An attempt that called `find` twice. `without`: the IDs of the calls whose results the recording lacks. */
function recording(number: number, results: readonly [string, string], without: readonly string[] = []): object {
  const calls = results.map((result, index) => ({ name: 'find', arguments: { n: index + 1 }, result }));
  const whole = trial('t', number, 1, calls) as Trial;
  return {
    ...whole,
    traj: whole.traj.filter(({ role, tool_call_id: id = '' }) => role !== 'tool' || !without.includes(id)),
  };
}

describe('a recorded world of a recording', { timeout: 480_000 }, () => {
  let workspace: Workspace;
  before(() => {
    workspace = new Workspace();
  });
  after(() => workspace.close());

  /** Runs a task in the world of these attempts. Returns what was said at submit, and the events. */
  async function played(name: string, trials: readonly object[]): Promise<{ said: string; events: TraceEvent[] }> {
    workspace.write(`${name}.json`, JSON.stringify(trials));
    workspace.write(
      `${name}.world.yaml`,
      JSON.stringify({ version: 1, name, kind: 'recorded', from: [`${name}.json`] }),
    );
    const file = workspace.batch(name, {
      endpoint: 'demo:',
      tasks: [{ id: 't', question: QUESTION, answer: 'done' }],
      batch: { world: `${name}.world.yaml` },
    });
    const { stdout, stderr, code } = await workspace.run('run', file, '--json');
    if (code !== 0) return { said: stderr, events: [] };
    const { batch } = JSON.parse(stdout) as { batch: string };
    const [row] = await workspace.ended(batch);
    return { said: stderr, events: await workspace.events(row?.rollout ?? '') };
  }

  it('without some results answers the others, and says that it has none', async () => {
    const { said, events } = await played('gaps', [recording(0, ['one', 'two'], ['c0'])]);
    assert.match(said, /gaps\.world\.yaml:1:\d+: warning: 1 call of gaps\.json without a result/);
    const [first, second] = ofKind(events, 'tool.end').map(({ data }) => data);
    assert.equal(first?.error?.class, 'tool_error');
    assert.match(first.error.message, /This call is not in the recording/);
    assert.deepEqual([responses(events)[1], second?.source, second?.error], ['two', 'recorded', undefined]);
    assert.equal(ofKind(events, 'rollout.end')[0]?.data.status, 'done', 'the agent goes on');
  });

  it('without any result is refused', async () => {
    const { said, events } = await played('none', [recording(0, ['one', 'two'], ['c0', 'c1'])]);
    assert.match(said, /none\.world\.yaml:1:\d+: no tool call of none\.json has a result/);
    assert.deepEqual(events, []);
  });

  it('that contradicts another one: the answer of most wins, and the log of the call says so', async () => {
    const { said, events } = await played('two', [
      recording(0, ['one', 'two']),
      recording(1, ['uno', 'due']),
      recording(2, ['uno', 'due']),
    ]);
    assert.deepEqual(responses(events), ['uno', 'due'], said);
    // From the second call on, the recordings that agree so far come first, and none of them differs.
    assert.deepEqual(
      ofKind(events, 'log').map(({ data }) => data.text),
      ['The recorded attempts differ here: 2 of 3 have this answer.\n'],
    );
    const places = ofKind(events, 'tool.end').map(({ data }) => data.recorded?.rollout);
    assert.deepEqual(places, ['two.json/t/2', 'two.json/t/2']);
  });
});
