import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { checkTarget, clusterRef, serverUrl, targetPlace } from '../../../../src/client/targets/target.ts';
import { TargetFile } from '../../../../src/client/targets/targetFile.ts';
import { StudioError } from '../../../../src/common/errors.ts';

const CLUSTER = { context: 'gpu', kubeconfig: '/k', namespace: 'team' };
const URL_TARGET = { url: 'https://rollouts.example.org', token_env: 'TOKEN' };
const of =
  (code: string, pattern: RegExp) =>
  (error: unknown): boolean =>
    StudioError.is(error) && error.code === code && pattern.test(`${error.message} ${error.hint ?? ''}`);

describe('targets.json', () => {
  let folder: string;
  let file: TargetFile;
  beforeEach(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'targets-'));
    file = new TargetFile(path.join(folder, 'data'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('is empty when the file is missing, and names the available targets in errors', () => {
    assert.deepEqual([...file.list()], []);
    assert.throws(() => file.get('k'), of('not_found', /Unknown target “k”.*Available targets: local\./));
    assert.equal(file.add('k', CLUSTER), true);
    assert.equal(file.add('u', URL_TARGET), true);
    assert.deepEqual([...file.list().keys()], ['k', 'u']);
    assert.throws(() => file.get('x'), of('not_found', /Available targets: local, k, u\./));
  });

  it('is replaced atomically, and readable by its owner only', () => {
    file.add('k', CLUSTER);
    assert.equal(file.add('k', { context: 'other' }), false);
    assert.deepEqual(new TargetFile(path.join(folder, 'data')).get('k'), { context: 'other' });
    assert.deepEqual(readdirSync(path.join(folder, 'data')), ['targets.json']);
    if (process.platform !== 'win32') assert.equal(statSync(file.path).mode & 0o777, 0o600);
  });

  it('loses only what is removed', () => {
    file.add('k', CLUSTER);
    file.add('u', URL_TARGET);
    file.remove('k');
    assert.deepEqual([...file.list().keys()], ['u']);
    assert.throws(() => file.remove('k'), of('not_found', /Unknown target “k”/));
  });

  it('is not overwritten when it cannot be parsed', () => {
    file.add('k', CLUSTER);
    for (const text of [
      '{',
      '{"targets": {"k": {"context": 7}}}',
      '{"targets": {"k": {"context": "c", "token": "secret"}}}',
    ]) {
      writeFileSync(file.path, text);
      assert.throws(() => file.add('l', CLUSTER), of('config', /not a valid list of targets/));
      assert.equal(readFileSync(file.path, 'utf8'), text);
    }
  });

  it('accepts names that fit on a command line and in a batch file', () => {
    for (const name of ['local', '', 'a b', '../x', '-k', 'a'.repeat(64)])
      assert.throws(() => file.add(name, CLUSTER), of('usage', /./), name);
    for (const name of ['k', 'GPU-1', 'team_a.eu']) assert.ok(file.add(name, CLUSTER), name);
  });
});

describe('a target', () => {
  it('by address never sends its token unencrypted', () => {
    assert.equal(serverUrl('https://rollouts.example.org/'), 'https://rollouts.example.org');
    assert.equal(serverUrl('https://example.org/rollouts/'), 'https://example.org/rollouts');
    for (const url of ['http://127.0.0.1:8080', 'http://localhost:1', 'http://[::1]:1'])
      assert.equal(serverUrl(url), url);
    assert.throws(() => serverUrl('http://rollouts.example.org'), of('usage', /unencrypted/));
    for (const url of ['rollouts', 'ftp://x', 'https://me:pw@x', 'https://x?token=1', 'https://x#y'])
      assert.throws(() => serverUrl(url), of('usage', /not a valid server URL/), url);
  });

  it('is a cluster or an address', () => {
    assert.deepEqual(clusterRef('k', CLUSTER), CLUSTER);
    assert.throws(
      () => clusterRef('u', URL_TARGET),
      of('usage', /Target u is the server https:\/\/rollouts\.example\.org, not a cluster/),
    );
    assert.equal(targetPlace(CLUSTER), 'context gpu, namespace team (/k)');
    assert.equal(targetPlace({ context: 'gpu' }), 'context gpu');
    assert.equal(targetPlace(URL_TARGET), URL_TARGET.url);
  });

  it('of a file applies to a running program without an explicit one', () => {
    checkTarget('a.yaml', 'local', undefined);
    checkTarget('a.yaml', 'k', 'k');
    checkTarget('a.yaml', 'k', 'local');
    assert.throws(() => checkTarget('a.yaml', 'k', undefined), of('usage', /a\.yaml runs on target k.*--target k/));
  });
});
