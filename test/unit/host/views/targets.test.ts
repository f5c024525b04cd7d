import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { menus } from '../../../../src/host/contributions/menus.ts';
import { blockingProblem, type Finding, hasServer } from '../../../../src/host/targets/findings.ts';
import type { ConfiguredTarget } from '../../../../src/host/targets/targetRegistry.ts';
import { FINDING_ICONS, findingNodes, targetItems } from '../../../../src/host/views/targets/findingNodes.ts';
import { FindingReader } from '../../../../src/host/views/targets/findingReader.ts';
import { type TargetsState, targetNodes } from '../../../../src/host/views/targets/targetNodes.ts';
import type { ServerInfo } from '../../../../src/protocol/client.ts';

const info: ServerInfo = {
  product: 'rollout-studio 1',
  protocol: 1,
  pid: 7,
  store: '/store',
  started_at: 0,
  queued: 60,
  running: 8,
  held: 1,
  workers: [
    { session: 's1', worker: 'w1', slots: 16, running: 8, held: 1, alive: true },
    { session: 's2', worker: 'w2', slots: 16, running: 0, held: 0, alive: false },
  ],
  endpoints: [{ endpoint: 'http://gpu:8000/v1', permits: 32, running: 30, waiting: 4, kv_cache: 0.914, state: 'busy' }],
};
const k: ConfiguredTarget = {
  name: 'k',
  kind: 'cluster',
  place: 'context kit, namespace ns (/home/kube)',
  namespace: 'ns',
};
const u: ConfiguredTarget = { name: 'u', kind: 'url', place: 'https://rollouts.example.org' };
const ok: Finding = { name: 'cluster', state: 'ok', text: 'Kubernetes v1.36.0' };
const missing: Finding = {
  name: 'server',
  state: 'missing',
  text: 'No rollout server is installed.',
  hint: 'rollout cluster install --target k',
};

function seen(more: Partial<TargetsState> = {}): TargetsState {
  return { targets: [], current: 'local', state: 'ok', info: undefined, findings: () => undefined, ...more };
}
const looks = (of: Partial<TargetsState>): (string | undefined)[][] =>
  targetNodes(seen(of)).map(({ item }) => [item.label, item.description, item.context]);

describe('the targets', () => {
  it('say when the connection of the one in use drops again and again', () => {
    const marked = (of: Partial<TargetsState>) => targetNodes(seen({ targets: [k, u], info, ...of }))[1]?.item;
    const item = marked({ current: 'k', isUnstable: true });
    assert.match(item?.description ?? '', /^in use · .* · unstable connection$/);
    assert.match(String(item?.tooltip), /dropped several times in the last minute\./);
    assert.doesNotMatch(marked({ current: 'k' })?.description ?? '', /unstable/);
    assert.doesNotMatch(marked({ current: 'u', isUnstable: true })?.description ?? '', /unstable/);
    assert.doesNotMatch(marked({ current: 'k', isUnstable: true, state: 'lost' })?.description ?? '', /unstable/);
  });

  it('of this machine show store, workers, and endpoints of its server', () => {
    const [local, endpoints] = targetNodes(seen({ info }));
    assert.equal(local?.item.description, 'in use · 8 running · 1 held · 60 queued');
    assert.deepEqual(
      local.children.map(({ item }) => [item.label, item.description]),
      [
        ['Store', '/store'],
        ['w1', '8/16 slots · 1 held'],
        ['w2', 'lost'],
      ],
    );
    assert.deepEqual(
      endpoints?.children.map(({ item }) => item.description),
      ['busy · 30 of 32 permits · 4 waiting · KV cache 91%'],
    );
    assert.deepEqual(
      ['lost', 'stopped'].map((state) => targetNodes(seen({ info, state: state as 'lost' }))[0]?.item.description),
      ['in use · connecting…', 'in use · stopped'],
    );
  });
  it('are replaced with a text while there is only a machine without a server', () => {
    assert.deepEqual(targetNodes(seen()), []);
    assert.deepEqual(looks({ targets: [k] })[0], ['local', 'in use · not running', 'target.local.used.stopped']);
  });
  it('mark the one in use in words and with another icon', () => {
    assert.deepEqual(looks({ targets: [k, u], current: 'k', info: { ...info, endpoints: [] } }), [
      ['local', 'this machine', 'target.local.idle'],
      ['k', 'in use · 8 running · 1 held · 60 queued', 'target.cluster.used.installed'],
      ['u', 'https://rollouts.example.org', 'target.url.idle.unknown'],
    ]);
    const icons = (current: string): (string | undefined)[] =>
      targetNodes(seen({ targets: [k, u], current: current, info: { ...info, endpoints: [] } })).map(
        ({ item }) => item.icon?.id,
      );
    assert.deepEqual(
      [icons('local'), icons('k'), icons('u')],
      [
        ['vm-active', 'server-environment', 'globe'],
        ['device-desktop', 'vm-active', 'globe'],
        ['device-desktop', 'server-environment', 'vm-active'],
      ],
    );
    assert.deepEqual(
      targetNodes(seen({ targets: [k], current: 'k', info }))[1]?.children.map(({ item, children }) => [
        item.label,
        item.description,
        children.length,
      ]),
      [['Workers', '1 worker', 2]],
    );
  });
  it('report when the one in use is unreachable, or not among them', () => {
    assert.deepEqual(
      (['ok', 'lost', 'stopped'] as const).map(
        (state) => targetNodes(seen({ targets: [k], current: 'k', state }))[1]?.item.description,
      ),
      ['in use · connecting…', 'in use · connecting…', 'in use · not connected'],
    );
    assert.deepEqual(looks({ targets: [k], current: 'gone' })[2], [
      'gone',
      'in use, but not found',
      'target.lost.used',
    ]);
  });
  it('show what is installed only after a look-up', () => {
    const context = (findings: Finding[] | undefined): string | undefined =>
      looks({ targets: [k], findings: () => findings })[1]?.[2];
    assert.deepEqual(
      [context(undefined), context([ok, missing]), context([ok, { ...missing, state: 'ok' }])],
      ['target.cluster.idle.unknown', 'target.cluster.idle.missing', 'target.cluster.idle.installed'],
    );
  });
  it('offer the commands that apply to them', () => {
    const offered = (viewItem: string): string[] =>
      (menus['view/item/context'] ?? []).flatMap(({ command, when, group }) => {
        const [, pattern, exact] = /view == rollout\.targets && viewItem (?:=~ \/(.*)\/|== (\S+))$/.exec(when) ?? [];
        const fits = pattern === undefined ? exact === viewItem : new RegExp(pattern).test(viewItem);
        return fits && group?.startsWith('inline') !== true ? [command.replace('rollout.', '')] : [];
      });
    assert.deepEqual(offered('target.local.idle'), ['useTarget']);
    assert.deepEqual(offered('target.local.used'), []);
    assert.deepEqual(offered('target.cluster.idle.missing'), ['useTarget', 'installTarget', 'removeTarget']);
    assert.deepEqual(offered('target.cluster.used.installed'), ['installTarget', 'uninstallTarget', 'removeTarget']);
    assert.deepEqual(offered('target.url.idle.unknown'), ['useTarget', 'changeToken', 'removeTarget']);
  });
});

describe('findings about a target', () => {
  const at = new Date();
  it('are one item each, with their hint below', () => {
    const [cluster, server, gpus] = findingNodes('k', {
      at,
      findings: [ok, missing, { name: 'gpus', state: 'unknown', text: 'may not be read', hint: 'Ask for it.' }],
    });
    assert.deepEqual(
      [cluster?.item.label, cluster?.item.description, cluster?.item.icon?.id, cluster?.children.length],
      ['Cluster', 'Kubernetes v1.36.0', 'pass', 0],
    );
    assert.deepEqual(
      [server?.item.icon?.id, server?.item.context, server?.target],
      ['circle-slash', 'finding.server.missing', 'k'],
    );
    assert.equal(
      server?.item.tooltip,
      `Server: No rollout server is installed.\nrollout cluster install --target k\nas of ${at.toLocaleTimeString()}`,
    );
    assert.deepEqual(
      server.children.map(({ item }) => item.label),
      ['rollout cluster install --target k'],
    );
    assert.deepEqual(
      [gpus?.item.label, gpus?.item.icon?.id, gpus?.item.ariaLabel],
      ['GPUs', 'question', 'GPUs, unknown, may not be read'],
    );
  });
  it('come first if they need action; the others are in one item, below what changes', () => {
    const others = targetNodes(seen({ targets: [k], current: 'k', info }))[1]?.children ?? [];
    const labels = (...findings: Finding[]): (string | undefined)[][] =>
      targetItems('k', { at, findings }, others).map(({ item }) => [item.label, item.description]);
    const unread: Finding = { name: 'gpus', state: 'unknown', text: 'may not be read' };
    assert.deepEqual(labels(ok, missing, { name: 'rights', state: 'wrong', text: 'lacks pods' }, unread), [
      ['Server', 'No rollout server is installed.'],
      ['Rights', 'lacks pods'],
      ['Workers', '1 worker'],
      ['Checks', '1 ok · 1 unknown'],
    ]);
    assert.deepEqual(labels(ok, { ...missing, state: 'ok' }), [
      ['Workers', '1 worker'],
      ['Checks', '2 ok'],
    ]);
    const [, checks] = targetItems('k', { at, findings: [ok] }, others);
    assert.deepEqual(
      [checks?.collapsed, checks?.children.map(({ item }) => item.ariaLabel)],
      [true, ['Cluster, ok, Kubernetes v1.36.0']],
    );
    assert.deepEqual(labels(missing).at(-1), ['Workers', '1 worker'], 'nothing else was found');
  });
  it('let what the server says be shown while they are read', () => {
    const others = targetNodes(seen({ targets: [k], current: 'k', info }))[1]?.children ?? [];
    assert.deepEqual(
      targetItems('k', undefined, others).map(({ item, collapsed }) => [item.label, item.description, collapsed]),
      [
        ['Workers', '1 worker', true],
        ['Checks', 'checking…', undefined],
      ],
    );
  });
  it('have an icon for each state', () => {
    const shapes = Object.values(FINDING_ICONS).map(({ id }) => id);
    assert.equal(new Set(shapes).size, shapes.length);
  });
  it('report whether there is a server, and what keeps the target from being used', () => {
    assert.deepEqual(
      [hasServer(undefined), hasServer([ok]), hasServer([missing]), hasServer([{ ...missing, state: 'wrong' }])],
      [undefined, undefined, false, true],
    );
    assert.equal(blockingProblem([ok, missing, { name: 'quota', state: 'wrong', text: 'used up' }]), undefined);
    assert.equal(
      blockingProblem([{ name: 'cluster', state: 'wrong', text: 'It does not answer.', hint: 'See the VPN.' }])?.hint,
      'See the VPN.',
    );
  });
});

describe('the reader of findings', () => {
  interface PendingQuery {
    readonly name: string;
    readonly signal: AbortSignal | undefined;
    readonly answer: (findings: readonly Finding[]) => void;
    readonly fail: (error: Error) => void;
  }
  function reader(): {
    reader: FindingReader;
    queries: PendingQuery[];
    changes: () => number;
    nth: (n: number) => Promise<PendingQuery>;
  } {
    const queries: PendingQuery[] = [];
    let [changes, notify] = [0, (): void => undefined];
    const findingReader = new FindingReader(
      {
        json: (args, { signal }) =>
          new Promise((resolve, fail) => {
            queries.push({
              name: args[2] ?? '',
              signal,
              fail,
              answer: (findings) => resolve({ targets: [{ target: args[2], place: '', findings }] }),
            });
            notify();
          }),
      },
      () => (changes += 1),
    );
    const nth = async (n: number): Promise<PendingQuery> => {
      while (queries.length < n)
        await new Promise<void>((resolve) => {
          notify = resolve;
        });
      const found = queries[n - 1];
      assert.ok(found !== undefined);
      return found;
    };
    return { reader: findingReader, queries, changes: () => changes, nth };
  }

  it('queries once, keeps the response, and queries again when it was invalidated', async () => {
    const { reader: findings, queries, changes, nth } = reader();
    const first = findings.of('k');
    const second = findings.of('k');
    (await nth(1)).answer([ok]);
    assert.deepEqual(
      [
        (await first).findings,
        (await second).findings,
        (await findings.of('k')).findings,
        findings.latest('k')?.findings,
      ],
      [[ok], [ok], [ok], [ok]],
    );
    assert.deepEqual([queries.length, queries[0]?.name, changes()], [1, 'k', 1]);
    findings.forget('k');
    assert.equal(findings.latest('k'), undefined);
    void findings.of('k');
    await nth(2);
    findings.dispose();
    assert.equal(queries[1]?.signal?.aborted, true);
  });
  it('keeps the last response until a new one arrives, which pending requests get too', async () => {
    const { reader: findings, queries, nth } = reader();
    const waiting = findings.of('k');
    await nth(1);
    findings.refreshAll();
    queries[0]?.fail(new Error('aborted'));
    (await nth(2)).answer([ok]);
    assert.deepEqual((await waiting).findings, [ok]);
    findings.refreshAll();
    assert.deepEqual((await findings.of('k')).findings, [ok]);
    (await nth(3)).answer([missing]);
    while (findings.latest('k')?.findings[0]?.name !== 'server') await new Promise(setImmediate);
  });
  it('refreshes what is reported as outdated, but with pauses, and only while it is visible', async (test) => {
    test.mock.timers.enable({ apis: ['Date'], now: 1_000_000 });
    const { reader: findings, queries, nth } = reader();
    assert.equal(findings.refresh('k', 10_000), true);
    assert.equal(queries.length, 0);
    const first = findings.of('k');
    assert.equal(findings.refresh('k', 10_000), false, 'a query is pending');
    (await nth(1)).answer([missing]);
    await first;
    test.mock.timers.tick(9_000);
    assert.equal(findings.refresh('k', 10_000), false);
    test.mock.timers.tick(1_000);
    assert.equal(findings.refresh('k', 10_000), true);
    assert.deepEqual(findings.latest('k')?.findings, [missing]);
    (await nth(2)).answer([ok]);
    while (findings.latest('k')?.findings[0]?.name !== 'cluster') await new Promise(setImmediate);
  });
  it('tries again what could not be reached, with pauses', async (test) => {
    test.mock.timers.enable({ apis: ['Date'], now: 1_000_000 });
    const { reader: findings, queries, nth } = reader();
    const [first, other] = [findings.of('k'), findings.of('u')];
    findings.retryFailed(0);
    assert.equal((await nth(2)).name, 'u', 'the first query is pending');
    queries[0]?.answer([{ ...ok, state: 'wrong' }]);
    queries[1]?.answer([ok, missing]);
    await Promise.all([first, other]);
    findings.retryFailed(15_000);
    test.mock.timers.tick(15_000);
    findings.retryFailed(15_000);
    assert.equal((await nth(3)).name, 'k');
    test.mock.timers.tick(15_000);
    findings.retryFailed(15_000);
    queries[2]?.fail(new Error('it broke'));
    while (findings.latest('k')?.findings[0]?.name !== 'target') await new Promise(setImmediate);
    findings.retryFailed(15_000);
    (await nth(4)).answer([ok]);
    while (findings.latest('k')?.findings[0]?.name !== 'cluster') await new Promise(setImmediate);
    test.mock.timers.tick(15_000);
    findings.retryFailed(15_000);
    assert.deepEqual(
      queries.map(({ name }) => name),
      ['k', 'u', 'k', 'k'],
    );
  });
  it('returns failures as findings', async () => {
    const { reader: findings, nth } = reader();
    const failed = findings.of('k');
    (await nth(1)).fail(new Error('it broke'));
    assert.deepEqual((await failed).findings, [{ name: 'target', state: 'wrong', text: 'it broke' }]);
  });
});
