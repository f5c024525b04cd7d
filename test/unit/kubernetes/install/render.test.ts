/** What `rollout cluster render` writes: the objects that `install` applies, in files that can be written again. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../../../src/kubernetes/access/objects.ts';
import { manifests } from '../../../../src/kubernetes/install/manifests/all.ts';
import { resolveOptions } from '../../../../src/kubernetes/install/options.ts';
import { writeGenerated, writeGeneratedFile } from '../../../../src/kubernetes/install/render/generated.ts';
import { renderHelm } from '../../../../src/kubernetes/install/render/helm.ts';
import { MARK, renderKustomize, renderManifests } from '../../../../src/kubernetes/install/render/render.ts';
import { INSTALLATIONS } from '../../../support/installations.ts';

const options = resolveOptions({ vllm: { model: 'org/model', cache: 'pvc' }, allowEgress: ['0.0.0.0/0:443'] });
const archive = { sha: 'a'.repeat(64), packed: randomBytes(400_000) };
const rendering = { options, archive, namespace: 'team' };
const expected = manifests(options, archive, 'team');

function objectsIn(text: string): KubeObject[] {
  return parseAllDocuments(text).map((document) => document.toJS() as KubeObject);
}

describe('a rendered installation', () => {
  test('has the objects of install, whichever way it is written', () => {
    assert.deepEqual(objectsIn(renderManifests(rendering)), expected);
    const files = renderKustomize(rendering);
    const { resources } = parse(files.get('kustomization.yaml') ?? '') as { resources: string[] };
    assert.deepEqual([...files.keys()].slice(1), resources);
    const found = resources.flatMap((name) => objectsIn(files.get(name) ?? ''));
    const byName = (objects: KubeObject[]) =>
      Object.fromEntries(objects.map((object) => [`${object.kind} ${object.metadata.name}`, object]));
    assert.equal(found.length, expected.length);
    assert.deepEqual(byName(found), byName(expected));
  });

  test('has nothing that the API server drops or adds inside of a list, which each apply would change', () => {
    for (const object of expected) {
      const spec = (object['spec'] ?? {}) as { ingress?: unknown[]; egress?: unknown[] };
      assert.notDeepEqual(spec.ingress, [], object.metadata.name);
      assert.notDeepEqual(spec.egress, [], object.metadata.name);
      if (object.kind === 'ValidatingAdmissionPolicy')
        for (const rule of (object['spec'] as { matchConstraints: { resourceRules: { scope?: string }[] } })
          .matchConstraints.resourceRules)
          assert.equal(rule.scope, '*');
    }
  });

  test('names the Secrets to create, except those that others manage', () => {
    assert.match(renderManifests(rendering), /# +kubectl create secret generic rollout-studio-tokens -n team/);
    const others = resolveOptions({ tokensSecret: 'tokens', authoritySecret: 'issuer' });
    const text = renderManifests({ ...rendering, options: others });
    assert.doesNotMatch(text, /create secret/);
    assert.match(
      text,
      /# +tokens \(keys full and read\)\n# +issuer \(keys ca.crt and ca.key, or tls.crt and tls.key\)/,
    );
    assert.match(text, /secretName: tokens/);
  });

  test('has nothing that Flux would substitute as a variable', () => {
    for (const input of Object.values(INSTALLATIONS)) {
      const text = renderManifests({ ...rendering, options: resolveOptions(input) });
      assert.doesNotMatch(text, /\$[{$]/);
    }
  });

  test('keeps its data when Helm, Argo CD, or Flux removes it', () => {
    const claims = expected.filter(({ kind }) => kind === 'PersistentVolumeClaim');
    assert.deepEqual(
      claims.map(({ metadata }) => [metadata.name, metadata.annotations]),
      ['rollout-studio-store', 'rollout-studio-vllm-cache'].map((name) => [
        name,
        {
          'helm.sh/resource-policy': 'keep',
          'argocd.argoproj.io/sync-options': 'Prune=false,Delete=false',
          'kustomize.toolkit.fluxcd.io/prune': 'disabled',
        },
      ]),
    );
  });
});

test('generated files replace those of an earlier run, and no others', async (context) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-render-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const out = path.join(folder, 'base');
  const write = (options: Parameters<typeof resolveOptions>[0]) =>
    writeGenerated(out, renderKustomize({ ...rendering, options: resolveOptions(options) }), MARK);
  await write({ vllm: { model: 'org/model' } });
  assert.ok(readdirSync(out).includes('vllm.yaml'));
  writeFileSync(path.join(out, 'own.yaml'), 'of the user');
  await write({});
  assert.ok(!readdirSync(out).includes('vllm.yaml'));
  assert.equal(readFileSync(path.join(out, 'own.yaml'), 'utf8'), 'of the user');
  writeFileSync(path.join(out, 'server.yaml'), 'edited');
  await assert.rejects(write({ port: 9000 }), {
    code: 'conflict',
    message: /server\.yaml exists, and was not generated/,
  });
  assert.doesNotMatch(readFileSync(path.join(out, 'options.yaml'), 'utf8'), /9000/);
});

test('manifests are written as a whole, over those of an earlier run, and over nothing else', async (context) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-render-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'lab', 'rollouts.yaml');
  await writeGeneratedFile(file, renderManifests(rendering), MARK);
  const text = renderManifests({ ...rendering, options: resolveOptions({ port: 9000 }) });
  await writeGeneratedFile(file, text, MARK);
  assert.equal(readFileSync(file, 'utf8'), text);
  writeFileSync(file, ''); // what a shell leaves of a command that fails
  await writeGeneratedFile(file, text, MARK);
  writeFileSync(file, 'of the user');
  await assert.rejects(writeGeneratedFile(file, text, MARK), { code: 'conflict', message: /was not generated/ });
  await assert.rejects(writeGeneratedFile(folder, text, MARK), { code: 'usage', message: /is a folder/ });
  assert.deepEqual(readdirSync(path.dirname(file)), ['rollouts.yaml']);
  assert.equal(readFileSync(file, 'utf8'), 'of the user');
});

test('a chart is written over the chart of an earlier run', async (context) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-render-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const write = (input: Parameters<typeof resolveOptions>[0]) =>
    writeGenerated(folder, renderHelm({ ...rendering, options: resolveOptions(input) }), MARK);
  await write({ vllm: { model: 'org/model' } });
  assert.ok(readdirSync(path.join(folder, 'templates')).includes('vllm.yaml'));
  await write({ port: 9000 });
  assert.ok(!readdirSync(path.join(folder, 'templates')).includes('vllm.yaml'));
  assert.match(readFileSync(path.join(folder, 'values.yaml'), 'utf8'), /^port: 9000$/m);
});
