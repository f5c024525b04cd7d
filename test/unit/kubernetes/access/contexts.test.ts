import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { StudioError } from '../../../../src/common/errors.ts';
import { Cluster } from '../../../../src/kubernetes/access/cluster.ts';
import { kubeContexts } from '../../../../src/kubernetes/access/contexts.ts';
import { kubeconfigText } from '../../../support/kubeApi.ts';

let folder: string;
let first: string;
let second: string;
const outer = process.env['KUBECONFIG'];
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'contexts-'));
  first = path.join(folder, 'first');
  second = path.join(folder, 'second');
  await writeFile(first, kubeconfigText('https://first.example:6443', 't'));
  await writeFile(second, kubeconfigText('https://second.example:6443', 't').replaceAll('"other"', '"third"'));
});
after(async () => {
  if (outer === undefined) delete process.env['KUBECONFIG'];
  else process.env['KUBECONFIG'] = outer;
  await rm(folder, { recursive: true });
});

test('the first of several kubeconfigs that has a name counts, and missing files do not', async () => {
  process.env['KUBECONFIG'] = [path.join(folder, 'none'), first, second].join(path.delimiter);
  assert.deepEqual(
    (await kubeContexts()).map(({ name, namespace, current }) => [name, namespace, current]),
    [
      ['test', 'ns', true],
      ['other', undefined, false],
      ['third', undefined, false],
    ],
  );
  const third = await Cluster.open({ context: 'third' });
  assert.deepEqual([third.server, third.namespace], ['https://first.example:6443', 'default']);
  assert.equal((await Cluster.open({ kubeconfig: second, namespace: 'mine' })).namespace, 'mine');
});

test('errors of a kubeconfig name what it has', async () => {
  const error = async (ref: Parameters<typeof Cluster.open>[0]): Promise<StudioError> => {
    const reason: unknown = await Cluster.open(ref).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    assert.ok(StudioError.is(reason, 'config'), String(reason));
    return reason;
  };
  assert.match(
    (await error({ kubeconfig: path.join(folder, 'none') })).message,
    /No kubeconfig found: .*none does not exist/,
  );
  const unknown = await error({ kubeconfig: first, context: 'nope' });
  assert.deepEqual(
    [unknown.message, unknown.hint],
    ['The kubeconfig has no context named nope.', 'Its contexts: test, other.'],
  );
  const broken = path.join(folder, 'broken');
  await writeFile(broken, 'clusters: [');
  assert.match((await error({ kubeconfig: broken })).message, /Cannot parse the kubeconfig/);
});

test('a credential plug-in that is not installed is named', async () => {
  const file = path.join(folder, 'exec');
  const config = JSON.parse(kubeconfigText('http://127.0.0.1:9', 't')) as { users: { user: unknown }[] };
  const [user] = config.users;
  assert.ok(user !== undefined);
  user.user = {
    exec: {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: 'no-such-login-program',
      installHint: 'Get it from the provider.',
    },
  };
  await writeFile(file, JSON.stringify(config));
  const cluster = await Cluster.open({ kubeconfig: file });
  await assert.rejects(
    cluster.version(),
    (error: StudioError) =>
      error.code === 'unauthorized' &&
      error.message.includes('no-such-login-program') &&
      error.hint === 'Install it, or add it to the PATH. Get it from the provider.',
  );
});
