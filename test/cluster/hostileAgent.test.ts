/**
 * The hostile agent in pods with one rollout each, where no sandbox opens: what keeps it from keys, answers, and tokens
 * is the container in which its programs run. Needs pods that share the network of this machine.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import type { JsonObject } from '../../src/common/json.ts';
import { PROTOCOL } from '../../src/protocol/version.ts';
import { AttemptTable, canary, HOSTILE, readAttempts } from '../support/hostile.ts';
import { endOf, ofKind } from '../support/testWorkspace.ts';
import { podsOf } from './support/batches.ts';
import { ClusterBench } from './support/clusterBench.ts';

const TAG = randomBytes(4).toString('hex');
const WAYS = ['terminal', 'code', 'module'].map((way) => `${way}-online`);
const FOLDERS = { config: '/rollout/config', own: '/rollout/own', work: '/rollout/work/rollouts' } as const;

const call = (name: string, args: JsonObject): string => `call ${name} ${JSON.stringify(args)}`;

/** Returns the process of a worker in a pod on this machine. */
function workerProcess(): number {
  for (const name of readdirSync('/proc').filter((each) => /^\d+$/.test(each)))
    try {
      if (readFileSync(`/proc/${name}/cmdline`, 'utf8').includes('/programs/dist/worker.mjs')) return Number(name);
    } catch {
      // it has ended
    }
  return assert.fail('no worker');
}

describe('a hostile agent in a pod', { timeout: 10 * 60_000 }, () => {
  let bench: ClusterBench;
  const targets = Promise.withResolvers<JsonObject>();
  const release = Promise.withResolvers<undefined>();
  const reports = new Map<string, string>();
  /** Tells agents their targets, takes their reports, and holds the honest rollout. */
  const post = createServer((request, answer) => {
    const { method, url = '' } = request;
    const respond = async (): Promise<string> => {
      if (method === 'POST') reports.set(url.slice(1), await text(request));
      else if (url === '/targets') return JSON.stringify(await targets.promise);
      else await release.promise;
      return '';
    };
    void respond().then((body) => answer.end(body));
  });

  before(async () => {
    post.listen(0, '127.0.0.1');
    process.env['HOSTILE_KEY'] = canary('key');
    bench = await ClusterBench.installed('hostile');
  });
  after(async () => {
    release.resolve(undefined);
    post.closeAllConnections();
    post.close();
    await bench.close();
    delete process.env['HOSTILE_KEY'];
  });

  it('gets, changes, and leaves nothing', async (test) => {
    const { workspace, site } = bench;
    if (site.kit === undefined) {
      test.skip('Pods do not share the network of this machine.');
      return;
    }
    const url = `http://127.0.0.1:${(post.address() as AddressInfo).port}`;
    cpSync(HOSTILE, workspace.path('hostile'), { recursive: true });
    workspace.write(
      'scorer.ts',
      `const hidden = '${canary('scorer')}';\nexport const score = ({ answer, task }: { answer: string; task: ` +
        '{ answer: string } }) => ({ value: 1, passed: answer === task.answer, explanation: hidden.slice(0, 6) });\n',
    );
    const held = `printf ${canary('other')} > private; node --eval "fetch('${url}/release')"`;
    const questions: Record<string, string> = {
      victim: call('execute_command', { command: held }),
      'terminal-online': call('execute_command', { command: `node hostile/attempts.mjs terminal-online ${url}` }),
      'code-online': call('run_code', {
        code: `import(process.cwd() + '/hostile/attempts.mjs').then((it) => it.attack('code-online', '${url}'))`,
      }),
      'module-online': call('attack_module', { kit: url, way: 'module-online' }),
    };
    const batch = await workspace.launch('hostile', {
      endpoint: 'demo:',
      model: { headers: { 'x-key': '${env:HOSTILE_KEY}' } },
      agent: { tools: [{ builtin: ['terminal', 'code'] }, { module: 'hostile/module.ts' }] },
      tasks: [
        { id: 'scored', question: 'answer done', answer: 'done' },
        ...Object.entries(questions).map(([id, question]) => ({
          ...{ id, question: `${question}\nanswer held`, answer: id === 'victim' ? 'held' : canary('answer') },
          ...{ note: canary('note'), files: ['hostile/attempts.mjs'] },
        })),
      ],
      batch: {
        attempts: 1,
        // It has no Python, and no code here is written in it.
        pods: podsOf(site, { isolation: 'pod', count: 1 + Object.keys(questions).length, provides: ['python'] }),
        scorer: { kind: 'module', module: 'scorer.ts' },
      },
    });
    const rows = await workspace.waitForRows(batch, (all) => {
      const state = (id: string): string | undefined => all.find(({ task }) => task === id)?.state;
      return state('scored') === 'ended' && state('victim') === 'running';
    });
    const { rollout, worker } = rows.find(({ task }) => task === 'victim') ?? assert.fail('no victim');
    const advertised = site.arguments[site.arguments.indexOf('--advertise') + 1] ?? assert.fail('no address');
    const pid = workerProcess();
    const victim = { cwd: `${FOLDERS.work}/victim`, port: 0, pid, rollout };
    const nowhere = '/rollout/nowhere';
    targets.resolve({
      ...{ tag: TAG, protocol: PROTOCOL, port: Number(new URL(advertised).port), tls: true },
      ...{
        server: pid,
        worker: pid,
        workerName: worker ?? assert.fail('no worker'),
        batch,
        victim,
        otherVictim: victim,
      },
      ...{ store: FOLDERS.config, project: '/rollout/bootstrap', home: FOLDERS.own },
      ...{ dataset: `${FOLDERS.config}/worker.json`, scorer: `${FOLDERS.own}/bundles/scorers`, scorerBlob: TAG },
      ...{ bundles: `${FOLDERS.own}/bundles`, work: FOLDERS.work, scorerBundles: [`${FOLDERS.own}/bundles/x.mjs`] },
      ...{ listener: 0, socket: nowhere, abstract: `\0${TAG}`, inspector: 0, addresses: [] },
      ...{ programs: ['/rollout/programs/dist/worker.mjs', '/rollout/programs/dist/toolServer.mjs'] },
      sockets: ['/run/containerd/containerd.sock', '/run/docker.sock'],
    });
    const ended = await workspace.waitForRows(batch, (all) =>
      all.every(({ task, state }) => task === 'victim' || state === 'ended'),
    );
    const table = new AttemptTable();
    for (const way of WAYS) {
      const row = ended.find(({ task }) => task === way) ?? assert.fail(way);
      const report = reports.get(way) ?? assert.fail(`${way}: ${JSON.stringify(await workspace.events(row.rollout))}`);
      for (const { name, canaries, effects, wrote } of readAttempts(report)) {
        // Its own container lets it write to these.
        const outside = wrote.filter((file) => !/^\/(var\/)?tmp\/|^\/rollout\/scratch\//.test(file));
        const got = [...canaries, ...effects, ...outside];
        table.add(name, way, got.length === 0 ? undefined : got.join(', ').slice(0, 300));
      }
    }
    release.resolve(undefined);
    for (const { rollout: each, task } of await workspace.ended(batch)) {
      const events = await workspace.events(each);
      const honest = !WAYS.includes(task);
      const scores = ofKind(events, 'score').map(({ data }) => data.passed);
      const intact = scores.length === 1 && scores[0] === honest && endOf(events).passed === honest;
      table.add('forge a score, seen from outside', task, intact ? undefined : JSON.stringify(scores));
      const leases = ofKind(events, 'rollout.lease').length;
      table.add('take over a rollout, seen from outside', task, leases === 1 ? undefined : `${leases} leases`);
    }
    const infra = ofKind(await workspace.events(batch), 'infra');
    const troubles = infra.filter(({ data }) => ['tampering', 'worker_lost'].includes(data.what));
    table.add('disturb the batch, seen from outside', batch, troubles[0] && JSON.stringify(troubles));
    assert.ok(!infra.some(({ data }) => data.what === 'no_sandbox'), 'the pod is enough');
    assert.deepEqual(table.print('pod'), []);
    assert.ok(table.size >= 40);
  });
});
