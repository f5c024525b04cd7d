import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bench } from '../support/cli.ts';

test('rollout world setup installs nothing before it is confirmed, and doctor says that it is missing', async () => {
  const bench = new Bench();
  try {
    const { code, stderr } = await bench.run(['world', 'setup']);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /fastapi==/);
    assert.match(stderr, /Add --yes/);
    const none = await bench.run(['world', 'setup', '--yes'], { env: { PATH: bench.folder } });
    assert.match(none.stderr, /Python was not found/);
    const doctor = await bench.run(['doctor']);
    assert.match(doctor.stdout, /worlds .*\n.*rollout world setup/);
  } finally {
    await bench.close();
  }
});
