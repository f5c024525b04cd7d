/** Worlds with scenarios: what is recorded of them, and when their snapshots fit. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { worldKey } from '../../../src/rollout/act/history.ts';
import type { World } from '../../../src/rollout/ports.ts';
import { type Kit, type KitOptions, kit, NumberWorld, ScriptedModel } from '../../support/rolloutKit.ts';

class ShelfWorld extends NumberWorld {
  readonly #template: string;

  constructor(template: string) {
    super();
    this.#template = template.repeat(64);
  }

  about(): ReturnType<NonNullable<World['about']>> {
    return { scenario: 'shelf', template: this.#template, clock: { start: '2026-03-16T09:00:00Z', step: 1 } };
  }
}

/** Makes 20 calls that change the world; the first 16 are in a snapshot. */
function run(world: ShelfWorld, options: KitOptions = {}): Kit {
  const model = new ScriptedModel([
    { calls: Array.from({ length: 20 }, () => ({ name: 'add', arguments: { n: 1 } })) },
    { text: 'Done.' },
  ]);
  return kit({ model, world, ...options });
}

describe('a world with scenarios', () => {
  it('is recorded with the scenario, its initial state, and its clock', async () => {
    const one = run(new ShelfWorld('a'));
    await one.run();
    const { world, kind, scenario, template, clock } = one.recorder.of('world.open')[0]!.data;
    assert.deepEqual(
      { world, kind, scenario, template, clock },
      {
        world: 'numbers',
        kind: 'module',
        scenario: 'shelf',
        template: 'a'.repeat(64),
        clock: { start: '2026-03-16T09:00:00Z', step: 1 },
      },
    );
  });

  it('continues from a snapshot only of the same initial state: otherwise all calls are made again', async () => {
    const parent = run(new ShelfWorld('a'));
    const events = await parent.run();
    const cut = events.findLast(({ kind }) => kind === 'tool.end')!.seq;
    for (const [template, from] of [
      ['a', '16'],
      ['b', undefined],
    ] as const) {
      const world = new ShelfWorld(template);
      const child = run(world, {
        after: { events: events.slice(0, cut), blobs: new Map(parent.recorder.blobs) },
        job: { rollout: 'r2', fork: { rollout: 'r1', seq: cut } },
      });
      await child.run();
      assert.equal(world.opened[0]?.from, from);
      assert.equal(world.value, 20);
      assert.equal(world.calls.length, from === undefined ? 20 : 4);
    }
  });

  it('is another request with another initial state', () => {
    const key = (template?: string): string =>
      worldKey({ world: 'w', seed: 1, ...(template === undefined ? {} : { template }) });
    assert.equal(key(), '["w",1]', 'as in older records');
    assert.notEqual(key('a'), key());
    assert.notEqual(key('a'), key('b'));
  });
});
