import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { nodeBuild } from '../../../src/build/bundles.ts';
import type { KubeConfig } from '../../../src/kubernetes/access/kubeconfig.ts';
import { kubeconfigText } from '../../support/kubeApi.ts';

test('a bundle holds of the Kubernetes library what reads kubeconfigs, and no more', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'kubeconfig-only-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await build({
    ...nodeBuild('0.0.0'),
    entryPoints: [{ in: 'src/kubernetes/access/kubeconfig.ts', out: 'kubeconfig' }],
    outdir: folder,
    sourcemap: false,
  });
  const file = path.join(folder, 'kubeconfig.mjs');
  assert.ok((await readFile(file)).length < 500_000);
  const { KubeConfig: Bundled } = (await import(pathToFileURL(file).href)) as { KubeConfig: typeof KubeConfig };
  const kubeconfig = path.join(folder, 'kubeconfig');
  await writeFile(kubeconfig, kubeconfigText('https://127.0.0.1:1', 'a-token'));
  const config = new Bundled();
  config.loadFromFile(kubeconfig);
  const credentials: { headers?: Record<string, string> } = {};
  await config.applyToHTTPSOptions(credentials);
  assert.equal(credentials.headers?.['Authorization'], 'Bearer a-token');
});
