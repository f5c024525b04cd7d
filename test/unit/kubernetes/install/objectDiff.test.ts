import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { diffText } from '../../../../src/cli/commands/cluster/diff.ts';
import { fieldDiffs, readable, yamlOf } from '../../../../src/kubernetes/install/objectDiff.ts';
import type { ObjectDiff } from '../../../../src/protocol/installDiff.ts';

const metadata = { name: 'x', uid: '1', resourceVersion: '7', managedFields: [], labels: { a: 'b' } };

describe('the diff of an object', () => {
  it('leaves out what the API server maintains', () => {
    const object = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { ...metadata, annotations: { 'deployment.kubernetes.io/revision': '3' } },
      spec: { replicas: 1 },
      status: { replicas: 1 },
    };
    assert.equal(
      yamlOf(readable(object)),
      'apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: x\n  labels:\n    a: b\nspec:\n  replicas: 1\n',
    );
  });

  it('shows no value of a Secret, and of programs only the hash', () => {
    const secret = readable({ apiVersion: 'v1', kind: 'Secret', metadata, data: { full: 'c2VjcmV0', gone: '' } });
    assert.deepEqual(secret['data'], { full: '(hidden)', gone: '' });
    const map = readable({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata,
      data: { short: 'text', long: 'x'.repeat(5_000) },
      binaryData: { archive: 'AAAA' },
    });
    assert.equal((map['data'] as Record<string, string>)['short'], 'text');
    assert.match((map['data'] as Record<string, string>)['long'] ?? '', /^\(5,000 characters, sha256 [0-9a-f]{12}\)$/);
    assert.match(JSON.stringify(map['binaryData']), /4 characters, sha256/);
  });

  it('names each field that changes', () => {
    const before = { spec: { replicas: 1, list: [{ image: 'a' }], gone: true, annotations: { 'x/y': '1' } } };
    const after = { spec: { replicas: 2, list: [{ image: 'b' }], annotations: { 'x/y': '2' }, added: [1] } };
    assert.deepEqual(fieldDiffs(before, after), [
      { path: 'spec.replicas', before: 1, after: 2 },
      { path: 'spec.list[0].image', before: 'a', after: 'b' },
      { path: 'spec.gone', before: true },
      { path: 'spec.annotations["x/y"]', before: '1', after: '2' },
      { path: 'spec.added', after: [1] },
    ]);
  });

  it('is text on the command line', () => {
    const same: ObjectDiff = { kind: 'Role', name: 'r', change: 'same', fields: [] };
    const text = diffText({
      namespace: 'ns',
      installed: true,
      notes: [],
      objects: [
        { kind: 'Secret', name: 's', change: 'create', fields: [] },
        { kind: 'Deployment', name: 'd', change: 'change', fields: [{ path: 'spec.replicas', before: 1, after: 2 }] },
        same,
        same,
      ],
    });
    assert.equal(
      text,
      'create  Secret s\nchange  Deployment d\n          spec.replicas: 1 → 2\n' +
        '1 to create, 1 to change, 2 objects stay as they are.',
    );
  });
});
