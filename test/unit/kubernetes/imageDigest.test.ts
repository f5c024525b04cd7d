import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withDigest } from '../../../src/kubernetes/images/imageDigest.ts';

const DIGEST = `sha256:${'ab'.repeat(32)}`;

describe('an image with its digest', () => {
  const cases: readonly (readonly [named: string, imageId: string, expected: string | undefined])[] = [
    ['node:24-slim', `docker.io/library/node@${DIGEST}`, `node:24-slim@${DIGEST}`],
    ['node', `docker.io/library/node@${DIGEST}`, `node@${DIGEST}`],
    ['team/tools:1', `docker.io/team/tools@${DIGEST}`, `team/tools:1@${DIGEST}`],
    ['localhost/node:local', `localhost/node@${DIGEST}`, `localhost/node:local@${DIGEST}`],
    [
      'registry.example.org:5000/a/b:1',
      `docker-pullable://registry.example.org:5000/a/b@${DIGEST}`,
      `registry.example.org:5000/a/b:1@${DIGEST}`,
    ],
    [`node:24@${DIGEST}`, `docker.io/library/node@sha256:${'00'.repeat(32)}`, `node:24@${DIGEST}`],
    // Loaded from a file: by the digest of its configuration, or by the name of the import.
    ['node:24', DIGEST, undefined],
    ['node:24', `docker.io/library/import-2026-01-01@${DIGEST}`, undefined],
    ['node:24', `mirror.example.org/library/node@${DIGEST}`, undefined],
    ['node:24', '', undefined],
  ];
  for (const [named, imageId, expected] of cases)
    it(`of ${named} that a node has as ${imageId === '' ? 'nothing' : imageId.slice(0, 40)}`, () =>
      assert.equal(withDigest(named, imageId), expected));
});
