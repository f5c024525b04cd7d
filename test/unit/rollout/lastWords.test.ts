import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { OnLog, World } from '../../../src/rollout/ports.ts';
import { kinds, kit, NumberWorld, plain, ScriptedTools } from '../../support/rolloutKit.ts';

it('output of tools and the world while they close is recorded before the end', async () => {
  const tools = new ScriptedTools({});
  const close = tools.close.bind(tools);
  tools.close = async (onLog?: OnLog) => {
    onLog?.('out', 'a tool ');
    await new Promise((resolve) => setImmediate(resolve));
    onLog?.('err', 'ends');
    await close();
  };
  const numbers = new NumberWorld();
  const world: World = {
    name: 'numbers',
    kind: 'module',
    open: async (input) => {
      const session = await numbers.open(input);
      return {
        ...session,
        close: async (onLog) => {
          onLog?.('out', 'the world ends');
          await session.close();
        },
      };
    },
  };
  const one = kit({ tools, world });
  const events = await one.run();
  assert.deepEqual(kinds(events).slice(-5).sort(), ['log', 'log', 'log', 'rollout.end', 'world.close']);
  assert.deepEqual(kinds(events).slice(-2), ['world.close', 'rollout.end']);
  const opened = events.find((event) => event.kind === 'world.open')?.seq;
  assert.deepEqual(
    one.recorder
      .of('log')
      .map(({ span, data }) => ({ span, stream: data.stream, text: plain(data.text) }))
      .sort((a, b) => a.text.localeCompare(b.text)),
    [
      { span: undefined, stream: 'out', text: 'a tool ' },
      { span: undefined, stream: 'err', text: 'ends' },
      { span: opened, stream: 'out', text: 'the world ends' },
    ],
  );
  assert.deepEqual([tools.closed, numbers.closed], [1, 1]);
});
