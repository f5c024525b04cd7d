/** `rollout target` and `--target` as far as they work without a cluster. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { Bench, type CommandResult } from '../support/cli.ts';
import { type KubeApi, startKubeApi } from '../support/kubeApi.ts';

describe('targets', () => {
  let api: KubeApi;
  let bench: Bench;
  before(async () => {
    api = await startKubeApi();
    bench = new Bench({ where: [], env: { KUBECONFIG: api.kubeconfig } });
  });
  after(async () => {
    await bench.close();
    await api[Symbol.asyncDispose]();
  });

  const says = (ran: CommandResult, code: number, pattern: RegExp): void => {
    assert.equal(ran.code, code, ran.stderr);
    assert.match(ran.stdout + ran.stderr, pattern);
  };
  const target = (...args: string[]): Promise<CommandResult> => bench.run(['target', ...args]);

  it('are chosen among the contexts of the kubeconfig', async () => {
    const listed = await target('add', 'k');
    says(listed, 0, /Choose a context: rollout target add k --context CONTEXT/);
    assert.match(listed.stdout, /^\* +test +fake +ns$/m);
    assert.match(listed.stdout, /^ +other +fake +default$/m);
    assert.deepEqual(await bench.json(['target', 'list']), { targets: [] });
    says(await target('add', 'k', '--context', 'nope'), 2, /no context “nope”\. Available contexts: test, other\./);
    says(
      await target('add', 'k', '--context', 'other', '--namespace', 'team'),
      0,
      /^Added target k: context other, namespace team /,
    );
    assert.deepEqual(await bench.json(['target', 'list']), {
      targets: [{ target: 'k', context: 'other', kubeconfig: api.kubeconfig, namespace: 'team' }],
    });
  });

  it('may be addresses, whose tokens are in the environment', async () => {
    says(await target('add', 'u', '--url', 'https://127.0.0.1:9'), 2, /--url requires --context or --token-env/);
    says(await target('add', 'u', '--url', 'http://example.org', '--token-env', 'T'), 2, /unencrypted/);
    says(await target('add', 'u', '--url', 'https://127.0.0.1:9', '--token-env', 'ROLLOUT_TEST_TOKEN'), 0, /Added/);
    says(await target('status', 'u'), 1, /✗ server +The token of target u is missing: ROLLOUT_TEST_TOKEN is not set/);
    says(await bench.run(['batches', '--target', 'u']), 2, /ROLLOUT_TEST_TOKEN is not set/);
    says(await target('remove', 'u'), 0, /Removed/);
    says(await target('remove', 'u'), 2, /Unknown target “u”/);
  });

  it('may be addresses to which a user of the kubeconfig logs in', async () => {
    const add = (url: string, ...args: string[]) => target('add', 'p', '--url', url, ...args);
    const url = 'https://rollouts.example.invalid';
    says(await add(url, '--context', 'test', '--token-env', 'T'), 2, /two ways to log in/);
    says(await add(url, '--context', 'test', '--namespace', 'ns'), 2, /--namespace cannot be combined with --url/);
    says(await add(url, '--kubeconfig', api.kubeconfig), 2, /requires --context/);
    says(await add(url, '--context', 'nope'), 2, /no context “nope”\. Available contexts: test, other\./);
    for (const plain of ['http://rollouts.example.invalid', 'http://127.0.0.1:9'])
      says(await add(plain, '--context', 'test'), 2, /unencrypted/);
    says(await add(url, '--context', 'test'), 0, /Added target p: https:.*, as the user of context test\. Check it/);
    const { targets } = await bench.json<{ targets: { target: string }[] }>(['target', 'list']);
    const [added] = targets.filter((each) => each.target === 'p');
    assert.deepEqual(added, { target: 'p', url, context: 'test', kubeconfig: api.kubeconfig });
    says(await target('status', 'p'), 1, /✗ server +The host name rollouts\.example\.invalid was not found/);
    says(await bench.run(['cluster', 'diff', '--target', 'p']), 2, /is the server .*, not a cluster/);
    says(await target('remove', 'p'), 0, /Removed/);
  });

  it('report wrong options before doing anything', async () => {
    says(await target('forget'), 2, /usage: rollout target add NAME/);
    says(await target('list', '--context', 'test'), 2, /for rollout target add/);
    says(await bench.run(['batches', '--target', 'x']), 2, /Unknown target “x”\. Available targets: local, k\./);
    says(await bench.run(['batches', '--target', 'k', '--store', bench.store]), 2, /--store is for the local server/);
    says(await bench.run(['serve', '--target', 'k']), 2, /rollout cluster install/);
    says(await bench.run(['doctor', '--target', 'k']), 2, /rollout target status k/);
  });

  it('of a file conflict with a store of this machine, unless an option decides', async () => {
    writeFileSync(bench.path('a.batch.yaml'), 'version: 1\ntarget: k\n');
    says(
      await bench.run(['run', 'a.batch.yaml', '--store', bench.store]),
      2,
      /a\.batch\.yaml runs on the target k, but a local store is selected\. .*--target k, or --target local/,
    );
    says(
      await bench.run(['run', 'a.batch.yaml', '--store', bench.store, '--target', 'local']),
      2,
      /a\.batch\.yaml:\d+:\d+: .*agent/,
    );
  });
});
