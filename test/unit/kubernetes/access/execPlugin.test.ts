/** Plug-ins that provide credentials: programs of this test, at a fake API server. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { StudioError } from '../../../../src/common/errors.ts';
import { Cluster } from '../../../../src/kubernetes/access/cluster.ts';
import { pluginCredential } from '../../../../src/kubernetes/access/execPlugin.ts';
import { programFile } from '../../../../src/kubernetes/access/programFile.ts';
import { type KubeApi, startKubeApi, statusReply } from '../../../support/kubeApi.ts';

const V1 = 'client.authentication.k8s.io/v1';
const V1BETA1 = 'client.authentication.k8s.io/v1beta1';

/** Writes a plug-in that first counts its runs. `code` has `info`, its KUBERNETES_EXEC_INFO. */
async function plugin(api: KubeApi, code: string, exec: Readonly<Record<string, unknown>> = {}) {
  const folder = path.dirname(api.kubeconfig);
  const script = path.join(folder, 'plugin.cjs');
  const runs = path.join(folder, 'runs');
  await writeFile(runs, '');
  await writeFile(
    script,
    `const fs = require('node:fs');
    fs.appendFileSync(${JSON.stringify(runs)}, process.pid + '\\n');
    const info = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
    const { apiVersion } = info;
    const give = (status, more) => console.log(JSON.stringify({ kind: 'ExecCredential', apiVersion, status, ...more }));
    const later = (ms) => new Date(Date.now() + ms).toISOString();
    const token = 'run-' + fs.readFileSync(${JSON.stringify(runs)}, 'utf8').split('\\n').length;
    ${code}`,
  );
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: [
      {
        name: 'fake',
        cluster: {
          server: api.url,
          extensions: [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'lab' } }],
        },
      },
    ],
    users: [
      {
        name: 'ann',
        user: {
          exec: { apiVersion: V1, interactiveMode: 'Never', command: process.execPath, args: [script], ...exec },
        },
      },
    ],
    contexts: [{ name: 'test', context: { cluster: 'fake', user: 'ann', namespace: 'ns' } }],
  };
  await writeFile(api.kubeconfig, JSON.stringify(config));
  return {
    open: () => Cluster.open({ kubeconfig: api.kubeconfig }),
    pids: async () =>
      (await readFile(runs, 'utf8'))
        .split('\n')
        .filter((line) => line !== '')
        .map(Number),
  };
}

const refusal = (code: string, message: RegExp) => (error: unknown) =>
  StudioError.is(error) && error.code === code && message.test(`${error.message} ${error.hint ?? ''}`);

async function failure(code: string, exec: Readonly<Record<string, unknown>> = {}): Promise<StudioError> {
  await using api = await startKubeApi();
  const cluster = await (await plugin(api, code, exec)).open();
  try {
    await cluster.version();
  } catch (error) {
    if (StudioError.is(error)) return error;
    throw error;
  } finally {
    cluster.close();
  }
  return assert.fail('it did not fail');
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('a plug-in is told version, variables, and cluster; its token counts until it expires', async () => {
  await using api = await startKubeApi();
  const { open, pids } = await plugin(
    api,
    `const { interactive, cluster } = info.spec;
    const parts = [process.env.REGION, interactive, cluster.server, cluster.config.audience];
    give({ token: [...parts, process.env.ELECTRON_RUN_AS_NODE].join('|'), expirationTimestamp: later(3600_000) })`,
    { env: [{ name: 'REGION', value: 'eu' }], provideClusterInfo: true },
  );
  const [one, two] = [await open(), await open()];
  await Promise.all([one.version(), one.version(), two.version()]);
  await two.version();
  assert.equal((await pids()).length, 1, 'all connections share one run');
  assert.equal(api.requests.at(-1)?.headers.authorization, `Bearer eu|false|${api.url}|lab|`);
  one.close();
  two.close();
});

test('an expired credential, and one that the cluster refuses, is fetched again', async () => {
  await using api = await startKubeApi();
  const { open, pids } = await plugin(api, 'give({ token, expirationTimestamp: later(5_000) })', {
    apiVersion: V1BETA1,
    interactiveMode: undefined,
  });
  const cluster = await open();
  await cluster.version();
  await cluster.version();
  assert.ok((await pids()).length >= 2, 'less than 10 s are left');
  await using refusing = await startKubeApi(({ headers }) =>
    headers.authorization === 'Bearer run-2' ? statusReply(401, 'Unauthorized', 'no') : { body: {} },
  );
  const again = await plugin(refusing, 'give({ token })');
  const other = await again.open();
  await other.version();
  assert.equal(refusing.requests.at(-1)?.headers.authorization, 'Bearer run-3');
  cluster.close();
  other.close();
});

test('whatever goes wrong is said, with what to do', async () => {
  const cases: readonly (readonly [string, Readonly<Record<string, unknown>>, RegExp])[] = [
    [
      '',
      { command: 'no-such-plugin', installHint: 'Get it from example.org.' },
      /no-such-plugin, which was not found\. Install it, or add it to the PATH\. Get it from example\.org\./,
    ],
    [
      "console.error('first'); console.error('session expired'); process.exit(3)",
      {},
      /failed: first; session expired\. Log in with it again/,
    ],
    ['process.exit(3)', {}, /it ended with 3/],
    ["console.log('hello')", {}, /printed no ExecCredential/],
    ['console.log(\'{"kind":"ExecCredential"}\')', {}, /printed no ExecCredential/],
    [`give({ token: 't' }, { apiVersion: '${V1BETA1}' })`, {}, /answered with .*v1beta1, not with .*v1\b/],
    ['give({})', {}, /neither a token nor a certificate/],
    ["give({ clientCertificateData: 'x' })", {}, /certificate without a key/],
    ["give({ token: 't', expirationTimestamp: 'soon' })", {}, /invalid expiration/],
    ['', { apiVersion: 'client.authentication.k8s.io/v1alpha1' }, /v1alpha1, which is not supported/],
    ['', { command: undefined }, /does not say which program/],
    [
      "give({ token: 't' })",
      { interactiveMode: 'Always' },
      /needs a terminal\. Log in with it in a terminal \(kubectl get pods --context test\)/,
    ],
  ];
  for (const [code, exec, message] of cases) {
    const error = await failure(code, exec);
    assert.match(`${error.message} ${error.hint ?? ''}`, message);
    assert.ok(['unauthorized', 'config'].includes(error.code), error.code);
  }
});

test('a plug-in that reads its input, or never answers, is ended', async () => {
  await using api = await startKubeApi();
  // Without a terminal it reads nothing, instead of waiting for a pipe.
  const reading = await plugin(api, "process.stdin.on('data', () => {}).on('end', () => give({ token: 't' }))");
  const cluster = await reading.open();
  await cluster.version();
  cluster.close();

  const hanging = await plugin(
    api,
    'setInterval(() => {}, 1000); console.error("Open https://login.example in a browser")',
    { env: [{ name: 'OTHER', value: 'run' }] },
  );
  const exec = {
    apiVersion: V1,
    command: process.execPath,
    args: [path.join(path.dirname(api.kubeconfig), 'plugin.cjs')],
  };
  const call = { exec, cluster: null, context: 'test', terminal: false };
  await assert.rejects(
    pluginCredential({ ...call, timeoutMs: 3_000 }),
    refusal(
      'unauthorized',
      /did not answer within 3 s: Open https:\/\/login\.example in a browser\. It may wait for a login/,
    ),
  );
  const stop = new AbortController();
  const waiting = await hanging.open();
  const before = (await hanging.pids()).length;
  const asked = waiting.version(stop.signal);
  while ((await hanging.pids()).length === before) await sleep(20);
  stop.abort();
  await assert.rejects(asked, refusal('cancelled', /./));
  const pids = await hanging.pids();
  while (pids.some(isAlive)) await sleep(20);
  waiting.close();
});

test('scripts of Windows are started by its shell, with their arguments as they are', async () => {
  const env = { PATH: '', ComSpec: 'C:\\Windows\\cmd.exe' };
  assert.deepEqual(await programFile('aws', ['eks'], 'linux', env), { file: 'aws', args: ['eks'], options: {} });
  assert.equal((await programFile('nothing', ['a'], 'win32', env)).file, 'nothing');
});
