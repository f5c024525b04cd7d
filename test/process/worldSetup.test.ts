import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
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

test('rollout world image prints the recipe of an image for pods, writes it, and says how to use it', async () => {
  const bench = new Bench({ where: [] });
  try {
    const workspace = bench.path('workspace');
    assert.equal((await bench.run(['init', workspace])).code, 0);
    const world = path.join('worlds', 'rooms.world.yaml');
    const run = (...args: string[]) => bench.run(['world', 'image', ...args], { cwd: workspace });

    const printed = await run(world);
    assert.equal(printed.code, 0, printed.stderr);
    assert.match(
      printed.stdout,
      /^# Image of pods for rooms\.world\.yaml: .*\nFROM node:24-slim AS node\n[^]*fastapi==/,
    );
    assert.match(printed.stderr, / {2}pods:\n {4}image: REGISTRY\/rooms-world:1\n {4}provides: \[python\]\n/);

    const written = await run(world, '--out', 'image', '--json');
    const { file, dockerfile } = JSON.parse(written.stdout) as { file: string; dockerfile: string };
    assert.equal(readFileSync(file, 'utf8'), dockerfile);
    assert.equal(`${printed.stdout.trimEnd()}\n`, dockerfile);
    const noBuilder = await bench.run(['world', 'image', world, '--out', 'image'], {
      cwd: workspace,
      env: { PATH: bench.folder },
    });
    assert.equal(noBuilder.code, 0, 'its own file is replaced');
    assert.match(
      noBuilder.stderr,
      /^With Docker, Podman, .*\n {2}docker build --tag REGISTRY\/rooms-world:1 image\n {2}docker push /,
    );

    writeFileSync(file, 'FROM scratch\n');
    assert.match((await run(world, '--out', 'image')).stderr, /exists, and is not from rollout world image/);
    assert.equal(readFileSync(file, 'utf8'), 'FROM scratch\n');
    const other = await run(path.join('worlds', 'library.world.yaml'));
    assert.match(other.stderr, /is a world of kind module: only kind code needs an image/);
  } finally {
    await bench.close();
  }
});
