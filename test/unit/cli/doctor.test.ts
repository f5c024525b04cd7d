import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { chromiumFinding, worldsFinding } from '../../../src/cli/commands/doctor.ts';
import { pinnedPackages, setUpPython } from '../../../src/tools/python/setup.ts';

test('doctor reports where Chromium is, or how to get it', () => {
  assert.deepEqual(chromiumFinding('/usr/bin/chromium'), { name: 'chromium', state: 'ok', text: '/usr/bin/chromium' });
  const missing = chromiumFinding(undefined);
  assert.deepEqual([missing.name, missing.state], ['chromium', 'missing']);
  assert.match(missing.text, /browser tools/);
  assert.match(missing.hint ?? '', /^Install Chromium, .*CHROME_PATH to the program\.$/);
});

test('doctor reports whether code worlds have their Python, and what makes it', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'doctor-'));
  try {
    const none = await worldsFinding(folder);
    assert.deepEqual([none.state, none.hint], ['missing', 'Run rollout world setup.']);
    writeFileSync(path.join(folder, 'ready.txt'), 'fastapi==0.1\n');
    assert.match((await worldsFinding(folder)).text, /another version/);
    writeFileSync(path.join(folder, 'ready.txt'), `${(await pinnedPackages()).join('\n')}\n`);
    assert.equal((await worldsFinding(folder)).state, 'ok');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the setup of code worlds names what is missing', { skip: process.platform === 'win32' }, async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'setup-'));
  const signal = AbortSignal.timeout(10_000);
  try {
    const environment = path.join(folder, 'environment');
    await assert.rejects(setUpPython({ environment, env: { PATH: folder }, signal }), {
      message: 'Python was not found.',
      hint: /Install Python 3\.10/,
    });
    writeFileSync(path.join(folder, 'python3'), '#!/bin/sh\necho 3 9\n', { mode: 0o755 });
    await assert.rejects(setUpPython({ environment, env: { PATH: folder }, signal }), {
      message: /3\.9, which is too old/,
    });
    const script = '#!/bin/sh\ncase "$1" in -c) echo 3 12;; *) echo no ensurepip >&2; exit 1;; esac\n';
    writeFileSync(path.join(folder, 'python3'), script, { mode: 0o755 });
    await assert.rejects(setUpPython({ environment, env: { PATH: folder }, signal }), {
      message: /Cannot make a virtual environment.*no ensurepip/s,
      hint: /python3-venv/,
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
