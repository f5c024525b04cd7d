import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { nodeBuild } from '../../../src/build/bundles.ts';
import type * as Library from '../../../src/kubernetes/access/library.ts';
import { kubeconfigText } from '../../support/kubeApi.ts';

test('a bundle holds the Kubernetes library without its HTTP client', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'kubernetes-client-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await build({
    ...nodeBuild('0.0.0'),
    entryPoints: [{ in: 'src/kubernetes/access/library.ts', out: 'library' }],
    outdir: folder,
    sourcemap: false,
  });
  const file = path.join(folder, 'library.mjs');
  assert.ok((await readFile(file)).length < 2_000_000);
  const { KubeConfig, VersionApi } = (await import(pathToFileURL(file).href)) as typeof Library;
  const kubeconfig = path.join(folder, 'kubeconfig');
  await writeFile(kubeconfig, kubeconfigText('https://127.0.0.1:1', 'a-token'));
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const credentials: { headers?: Record<string, string> } = {};
  await config.applyToHTTPSOptions(credentials);
  assert.equal(credentials.headers?.['Authorization'], 'Bearer a-token');
  await assert.rejects(config.makeApiClient(VersionApi).getCode(), /is not in this bundle/);
});
