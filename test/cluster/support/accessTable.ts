/** Users with different Roles, and a table of what each can do, probed against the real API server and our server. */
import assert from 'node:assert/strict';
import { parseAllDocuments } from 'yaml';
import type { TargetConnection } from '../../../src/client/targets/connectTarget.ts';
import { table } from '../../../src/client/text/table.ts';
import { StudioError } from '../../../src/common/errors.ts';
import { newId } from '../../../src/common/ids.ts';
import type { Cluster } from '../../../src/kubernetes/access/cluster.ts';
import type { KubeObject } from '../../../src/kubernetes/access/objects.ts';
import { batchName, labels, NAMES, selector } from '../../../src/kubernetes/names.ts';
import type { Api } from '../../../src/protocol/api.ts';
import { blobOf } from '../../support/rolloutServer.ts';
import type { Accounts } from './accounts.ts';
import type { ClusterBench } from './clusterBench.ts';

/** Two with client certificates, two with tokens of service accounts. */
const BINDINGS = ['user=ann:user', 'group=readers:viewer', 'serviceaccount=admin:admin'];

/** By what is tried: whether ann, bob, admin, and guest may. */
export const EXPECTED_ACCESS: Readonly<Record<string, string>> = {
  'reads batches': '✓ ✓ ✓ –',
  'launches a batch': '✓ – ✓ –',
  'pauses a batch': '✓ – ✓ –',
  'removes batches': '– – ✓ –',
  'sees a private batch of admin': '– – ✓ –',
  'sees a batch that admin shared with bob': '– ✓ ✓ –',
  'changes a batch that admin shared': '– – ✓ –',
  'reads a file of admin by its hash': '– – ✓ –',
  'reads the values of a batch': '– – – –',
  'reads the Secret with client tokens': '– – – –',
  'reads the Secret with the authority': '– – – –',
  'lists Secrets': '– – – –',
  'starts a Job, or a pod': '– – – –',
  'changes a Role': '– – – –',
};

/** Gives the users their Roles, with what the command line prints. */
export async function openUsers(bench: ClusterBench, accounts: Accounts): Promise<Record<string, Cluster>> {
  const { cluster, namespace } = bench;
  for (const name of ['admin', 'guest'])
    await cluster.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } });
  const printed = await bench.rolloutWithoutTarget(
    'cluster',
    'roles',
    '--namespace',
    namespace,
    ...BINDINGS.flatMap((binding) => ['--bind', binding]),
  );
  assert.equal(printed.code, 0, printed.stderr);
  for (const document of parseAllDocuments(printed.stdout)) await cluster.create(document.toJS() as KubeObject);
  return {
    ann: await accounts.withCertificate('ann'),
    bob: await accounts.withCertificate('bob', ['readers']),
    admin: await accounts.open('admin'),
    guest: await accounts.open('guest'),
  };
}

export async function serverPod({ cluster }: ClusterBench): Promise<string | undefined> {
  return (await cluster.list('Pod', { labels: selector(labels('server')) }))[0]?.metadata.name;
}

/** Creates a batch in which nothing runs. Returns its ID. */
async function launch(api: Api, content = 'a recording'): Promise<string> {
  const { sha, bytes } = blobOf(content);
  const batch = newId('b');
  await api.putBlob(sha, bytes);
  await api.createBatch({
    batch,
    submission: sha,
    open: true,
    tasks: [],
    imported: { name: 'recording', attempts: 1 },
  });
  return batch;
}

/** Returns the table as text, and its marks by what is tried. Whoever has no connection may do nothing there. */
export async function accessTable(
  users: Readonly<Record<string, Cluster>>,
  opened: Readonly<Record<string, TargetConnection>>,
): Promise<{ text: string; marks: Record<string, string> }> {
  const { admin } = opened;
  assert.ok(admin !== undefined);
  // One that belongs to nobody cannot be made here, so whoever may not launch tries to pause one of admin.
  const hidden = await launch(admin.api, 'a private file');
  const shared = await launch(admin.api);
  await admin.api.commandBatch(shared, { command: newId('c'), verb: 'share', args: { with: ['bob'] } });
  const server: readonly (readonly [string, (api: Api) => Promise<unknown>])[] = [
    ['reads batches', (api) => api.batches()],
    ['launches a batch', (api) => launch(api)],
    ['pauses a batch', async (api) => pause(api, await launch(api).catch(() => shared))],
    ['removes batches', (api) => api.gc({ dry_run: true })],
    ['sees a private batch of admin', (api) => api.events(hidden)],
    ['sees a batch that admin shared with bob', (api) => api.events(shared)],
    ['changes a batch that admin shared', (api) => pause(api, shared)],
    ['reads a file of admin by its hash', (api) => api.getBlob(blobOf('a private file').sha)],
  ];
  const cluster: readonly (readonly [string, (cluster: Cluster) => Promise<unknown>])[] = [
    ['reads the Secret with client tokens', (as) => as.get('Secret', NAMES.tokens)],
    ['reads the Secret with the authority', (as) => as.get('Secret', NAMES.authority)],
    ['reads the values of a batch', (as) => as.get('Secret', batchName(hidden))],
    ['lists Secrets', (as) => as.list('Secret')],
    [
      'starts a Job, or a pod',
      async (as) =>
        (await as.isAllowed('create', 'jobs')) || (await as.isAllowed('create', 'pods')) ? true : refuse(),
    ],
    ['changes a Role', async (as) => ((await as.isAllowed('patch', 'roles')) ? true : refuse())],
  ];
  const names = Object.keys(users);
  const rows: string[][] = [
    ['', ...names],
    ['Role', 'user', 'viewer', 'admin', 'none'],
  ];
  for (const [what, act] of server)
    rows.push([
      what,
      ...(await Promise.all(
        names.map((name) => mark(opened[name] === undefined ? refuse : () => act(opened[name]!.api))),
      )),
    ]);
  for (const [what, act] of cluster)
    rows.push([what, ...(await Promise.all(Object.values(users).map((as) => mark(() => act(as)))))]);
  const marks = Object.fromEntries(rows.slice(2).map(([what = '', ...each]) => [what, each.join(' ')]));
  return { text: table(rows), marks };
}

function pause(api: Api, batch: string): Promise<unknown> {
  return api.commandBatch(batch, { command: newId('c'), verb: 'pause' });
}

function refuse(): never {
  throw new StudioError('forbidden', 'It is not allowed.');
}

async function mark(act: () => Promise<unknown>): Promise<string> {
  try {
    await act();
    return '✓';
  } catch (error) {
    if (StudioError.is(error) && ['forbidden', 'not_found', 'gone'].includes(error.code)) return '–';
    throw error;
  }
}
