/** Which groups the server delivers now, and which wait for fresh members. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deliverableGroups } from '../../../src/server/groups/stale.ts';
import type { Services } from '../../../src/server/services.ts';
import type { FinishedGroupRecord } from '../../../src/store/groupStore.ts';
import type { BatchRecord } from '../../../src/store/store.ts';

const BATCH = 'b0000000000000000a';

/** A store of groups of one member each, by name. `weights`: the version that sampled each rollout. */
class Groups {
  readonly asked: [string, readonly string[]][] = [];
  readonly #weights: Readonly<Record<string, string>>;
  #groups: FinishedGroupRecord[];

  constructor(groups: readonly FinishedGroupRecord[], weights: Readonly<Record<string, string>>) {
    this.#groups = [...groups];
    this.#weights = weights;
  }

  /** Returns the names of the next groups. */
  async next(group: object, limit = 10): Promise<string[]> {
    const services = {
      store: {
        finishedGroups: (_batch: string, after: number, most: number) =>
          Promise.resolve(this.#groups.filter(({ rev }) => rev > after).slice(0, most)),
        rollout: (rollout: string) => {
          const version = this.#weights[rollout]!;
          return Promise.resolve({ row: { rollout, progress: { weights: { desk: [version, version] } } } });
        },
        deliverGroup: (_batch: string, name: string, { stale }: { stale: readonly string[] }) => {
          this.asked.push([name, stale]);
          if (stale.length > 0) this.#groups = this.#groups.filter(({ row }) => row.group !== name);
          return Promise.resolve(stale.length === 0);
        },
      },
      endpoints: { versionsFor: () => Promise.resolve(() => 5) },
    } as unknown as Services;
    const record = { row: { batch: BATCH }, spec: { group } } as unknown as BatchRecord;
    return (await deliverableGroups(services, record, 0, limit)).map(({ row }) => row.group);
  }
}

function ended(rev: number, over: Partial<FinishedGroupRecord> = {}): FinishedGroupRecord {
  const row = { batch: BATCH, group: `g${rev}` } as FinishedGroupRecord['row'];
  return { row, rev, members: [`r${rev}`], excluded: [], cut: [], ...over };
}

describe('stale groups at their delivery', () => {
  const weights = { r1: '2', r2: '3', r3: '5', r4: '2' };
  const all = [1, 2, 3, 4].map((rev) => ended(rev));

  it('wait if a member is too old; others are delivered, in order', async () => {
    const groups = new Groups(all, weights);
    assert.deepEqual(await groups.next({ stale: 'wait', max_versions: 2 }), ['g2', 'g3']);
    assert.deepEqual(groups.asked, [
      ['g1', ['r1']],
      ['g2', []],
      ['g3', []],
      ['g4', ['r4']],
    ]);
  });

  it('do not hide those behind them', async () => {
    assert.deepEqual(await new Groups(all, weights).next({ stale: 'wait', max_versions: 2 }, 1), ['g2']);
    assert.deepEqual(await new Groups([all[0]!], weights).next({ stale: 'wait', max_versions: 2 }), []);
  });

  it('are not judged by other rules, without a limit, or once they were delivered', async () => {
    const names = ['g1', 'g2', 'g3', 'g4'];
    for (const rule of [{ stale: 'mark', max_versions: 0 }, { stale: 'drop', max_versions: 0 }, { stale: 'wait' }]) {
      const groups = new Groups(all, weights);
      assert.deepEqual(await groups.next(rule), names);
      assert.deepEqual(groups.asked, []);
    }
    const delivered = new Groups([ended(1, { delivered: true })], weights);
    assert.deepEqual(await delivered.next({ stale: 'wait', max_versions: 2 }), ['g1']);
    assert.deepEqual(delivered.asked, []);
  });

  it('name surplus members that are too old as well, but do not wait because of those', async () => {
    const surplus = { attempt: 9, try: 1, state: 'ended', steps: 1, output_tokens: 1, ms: 1 } as const;
    const cut = [{ ...surplus, rollout: 'r4' }];
    const groups = new Groups([ended(1, { cut }), ended(3, { cut })], weights);
    assert.deepEqual(await groups.next({ stale: 'wait', max_versions: 2 }), ['g3']);
    assert.deepEqual(groups.asked, [
      ['g1', ['r1', 'r4']],
      ['g3', []],
    ]);
  });
});
