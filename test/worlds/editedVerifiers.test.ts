/** Verifiers of an extracted scenario are edited: which stored verdicts would flip, and rescoring with them. */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Verified } from '../../src/rerun/verify.ts';
import type { RatedPair } from '../../src/trace/agreement/pairs.ts';
import { Bench } from '../support/cli.ts';
import { answerText, chatEndpoint } from '../support/endpoint.ts';
import { extractScenario } from './support/extracted.ts';
import { writeGardenBatch } from './support/gardenBatch.ts';
import { garden, replaced } from './support/gardenFolder.ts';

const QUESTIONS = {
  right: 'call assign_plot {"plot_id": 3, "gardener_id": 3}\nanswer done',
  wrong: 'call assign_plot {"plot_id": 3, "gardener_id": 2}\nanswer done',
  idle: 'call list_plots {}\nanswer done',
};

interface VerifiedAll {
  readonly rollouts: readonly Verified[];
  readonly flipped: number;
  readonly agreement: readonly RatedPair[];
}

describe('edited verifiers of an extracted scenario', { timeout: 300_000 }, () => {
  let folder: string;
  let bench: Bench;
  let batch: string;
  let world: string;
  const verifier = (mode: 'code' | 'sql' = 'code'): string =>
    path.join(
      folder,
      'worlds',
      'garden_copy',
      mode === 'code' ? 'gen_verifier.pure_code' : 'gen_verifier',
      'garden.0.py',
    );
  const [original = ''] = garden().codeVerifiers;
  const edit = (from: string, to: string): void => writeFileSync(verifier(), replaced(original, from, to));
  const verify = (...args: string[]): Promise<VerifiedAll> => bench.json<VerifiedAll>(['world', 'verify', ...args]);
  const changes = ({ rollouts }: VerifiedAll): [string, boolean | null | undefined, boolean | null | undefined][] =>
    rollouts
      .map(({ task, stored, now }): ReturnType<typeof changes>[number] => [task, stored?.passed, now?.passed])
      .sort(([a], [b]) => (a < b ? -1 : 1));

  before(async () => {
    folder = await writeGardenBatch({ questions: QUESTIONS });
    bench = new Bench({ env: { XDG_CACHE_HOME: path.join(folder, 'cache'), ROLLOUT_USER: 'ada' } });
    ({ batch } = await bench.json<{ batch: string }>(['run', path.join(folder, 'batches', 'garden.batch.yaml')]));
    world = await extractScenario(
      path.join(folder, 'worlds', 'published'),
      'garden',
      path.join(folder, 'worlds', 'garden_copy'),
    );
  });
  after(async () => {
    await bench.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('flip nothing before they are edited', async () => {
    const verified = await verify('--with', verifier());
    assert.deepEqual(changes(verified), [
      ['idle', false, false],
      ['right', true, true],
      ['wrong', false, false],
    ]);
    assert.equal(verified.flipped, 0);
  });

  test('flip stored verdicts: by their file, and by a world file that points to their folder', async () => {
    edit('after == 3', 'after == 2');
    const flipped = [
      ['idle', false, false],
      ['right', true, false],
      ['wrong', false, true],
    ];
    assert.deepEqual(changes(await verify('--with', verifier())), flipped);
    assert.deepEqual(changes(await verify(batch, '--with', world)), flipped);
    const printed = await bench.run(['world', 'verify', batch, '--with', verifier()]);
    assert.match(
      printed.stdout,
      /^right\/1 {2}passed \(complete\) → failed \(agent error\) {2}flips\n {2}code verifier: ✓ → ✗$/m,
    );
    assert.match(printed.stdout, /^2 of 3 stored verdicts change: 1 passes, 1 fails\.$/m);
    const recorded = await verify(batch);
    assert.equal(recorded.flipped, 0, 'without --with, the recorded verifiers run');
  });

  test('are compared with the labels of people', async () => {
    for (const [task, label] of [
      ['right', 'passed'],
      ['wrong', 'failed'],
      ['idle', 'failed'],
    ])
      await bench.json(['label', `${batch}/${task ?? ''}/1`, label ?? '']);
    const { agreement } = await verify('--with', verifier());
    const [pair] = agreement;
    assert.deepEqual([pair?.raters, pair?.compared, pair?.agreed], [['code', 'label of ada'], 3, 1]);
    const printed = await bench.run(['world', 'verify', '--with', verifier()]);
    assert.match(printed.stdout, /^code – label of ada: 1 of 3 agree, kappa -0\.50$/m);
  });

  test('report errors with file, line, and column', async () => {
    edit('final.execute(others).fetchall()', 'final.execute(others).nothing()');
    const [failed] = (await verify(`${batch}/right/1`, '--with', verifier())).rollouts;
    assert.match(failed?.error ?? '', /AttributeError/);
    assert.deepEqual([failed?.now?.passed, failed?.flips], [null, false]);
    const line = original.split('\n').findIndex((text) => text.includes('unchanged =')) + 1;
    assert.deepEqual([failed?.place?.file, failed?.place?.line], [verifier(), line]);
    assert.ok((failed?.place?.column ?? 0) > 5);
    const all = await verify('--with', verifier());
    assert.equal(all.rollouts.filter(({ place }) => place?.line === line).length, 3, 'also where nothing was changed');
    edit('    return {', '    return return {');
    const [unread] = (await verify(`${batch}/right/1`, '--with', verifier())).rollouts;
    assert.match(unread?.error ?? '', /cannot be loaded: SyntaxError/);
    assert.deepEqual([unread?.place?.line, unread?.place?.column], [original.split('\n').length - 1, 12]);
    edit('    return {', '    nothing = {');
    const [silent] = (await verify(`${batch}/right/1`, '--with', verifier())).rollouts;
    assert.match(silent?.error ?? '', /returned null, without a text named result/);
    assert.equal(silent?.place?.line, original.split('\n').findIndex((text) => text.startsWith('def ')) + 1);
    const printed = await bench.run(['world', 'verify', `${batch}/right/1`, '--with', verifier()]);
    assert.match(printed.stdout, /no verdict: \S+garden\.0\.py:\d+:1: The verifier returned null/);
  });

  test('score the batch again, next to its rewards', async () => {
    edit('after == 3', 'after == 2');
    const scored = await bench.json<{ batch: string; passed: number; failed: number }>([
      'rescore',
      batch,
      '--scorer',
      verifier(),
    ]);
    assert.deepEqual([scored.passed, scored.failed], [1, 2]);
    const again = await bench.json<{ passed: number; failed: number }>(['rescore', batch, '--scorer', world]);
    assert.deepEqual([again.passed, again.failed], [1, 2]);
    const kept = await verify(batch);
    assert.deepEqual(
      changes(kept).map(([, stored]) => stored),
      [false, true, false],
      'rewards do not change',
    );
  });

  test('say which rollouts they judge', async () => {
    const other = verifier().replace('garden.0.py', 'garden.1.py');
    const none = await bench.run(['world', 'verify', batch, '--with', other]);
    assert.equal(none.code, 2);
    assert.match(none.stderr, /judges none of these rollouts/);
    assert.deepEqual((await verify('--with', other)).rollouts, []);
    const missing = await bench.run(['world', 'verify', '--with', verifier().replace('garden.0.py', 'garden.7.py')]);
    assert.match(missing.stderr, /has no code verifier of garden for task 7/);
  });
});

test('an edited SQL verifier takes the recorded answer of the judge, as long as its evidence is the same', async () => {
  let asked = 0;
  await using endpoint = await chatEndpoint((_, response) => {
    asked++;
    answerText(response, JSON.stringify({ classification: 'incomplete', explanation: 'not all of it' }));
  });
  const folder = await writeGardenBatch({ questions: { right: QUESTIONS.right }, judge: endpoint.url });
  const bench = new Bench({ env: { XDG_CACHE_HOME: path.join(folder, 'cache') } });
  try {
    await bench.json(['run', path.join(folder, 'batches', 'garden.batch.yaml')]);
    assert.equal(asked, 1);
    const target = path.join(folder, 'worlds', 'garden_copy');
    await extractScenario(path.join(folder, 'worlds', 'published'), 'garden', target);
    const sql = path.join(target, 'gen_verifier', 'garden.0.py');
    const written = readFileSync(sql, 'utf8');
    writeFileSync(sql, `${written}\n# edited\n`);
    const same = await bench.json<VerifiedAll>(['world', 'verify', '--with', sql]);
    const [first] = same.rollouts;
    assert.deepEqual([first?.stored?.passed, first?.now?.passed, first?.ratings], [true, false, { judge: false }]);
    const code = path.join(target, 'gen_verifier.pure_code', 'garden.0.py');
    const { agreement } = await bench.json<VerifiedAll>(['world', 'verify', '--with', code]);
    assert.deepEqual(agreement, [{ raters: ['code', 'judge'], compared: 1, agreed: 0, kappa: 0 }]);
    writeFileSync(sql, replaced(written, '"before": before', '"earlier": before'));
    const other = (await bench.json<VerifiedAll>(['world', 'verify', '--with', sql])).rollouts;
    assert.match(other[0]?.error ?? '', /needs an answer of the model judge that was not recorded/);
    assert.equal(asked, 1, 'nobody is asked again');
  } finally {
    await bench.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
