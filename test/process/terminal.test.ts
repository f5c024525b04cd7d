// Texts of models, tools, tasks, and recordings act neither on the terminal nor on the order of its text.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { Bench, type CommandResult } from '../support/cli.ts';

/** Writes to the clipboard, asks the terminal for answers, clears it, and reorders text. */
const EVIL = '\x1b]52;c;aGk=\x07 \x1b[6n \x1bc \x9b2J \x90q\x9c \x7f\b\r \u202egnp\u2066 \ud800';
const ACTIVE = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\p{Cs}/u;
const FINE = '👩‍👩‍👧 שלום';

const call = { id: 'c1', type: 'function', function: { name: `tool${EVIL}`, arguments: JSON.stringify({ a: EVIL }) } };
const entry = (trial: number, reward: number, answer: string): object => ({
  task_id: `task${EVIL}${FINE}`,
  trial,
  reward,
  info: { task: { instruction: EVIL, actions: [{ name: EVIL, kwargs: { a: EVIL } }], outputs: [EVIL] } },
  traj: [
    { role: 'system', content: EVIL },
    { role: 'user', content: `${FINE} ${EVIL}` },
    { role: 'assistant', content: EVIL, reasoning_content: EVIL, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c1', name: `tool${EVIL}`, content: `Error: ${EVIL}${answer}` },
    { role: 'assistant', content: `${answer} ${EVIL}` },
  ],
});

describe('the terminal', () => {
  const bench = new Bench();
  let batch: string;
  let rollouts: string[];

  before(async () => {
    const file = bench.path('recording.json');
    writeFileSync(file, JSON.stringify([entry(0, 1, 'one'), entry(1, 0, 'two')]));
    batch = (await bench.json<{ batch: string }>(['import', file])).batch;
    const shown = await bench.json<{ rollouts: { rollout: string }[] }>(['show', batch]);
    rollouts = shown.rollouts.map(({ rollout }) => rollout);
  });
  after(() => bench.close());

  const texts = (result: CommandResult): string => `${result.stdout}${result.stderr}`;

  it('gets harmless text from every command', async () => {
    const [rollout = '', other = ''] = rollouts;
    for (const args of [
      ['show', batch],
      ['show', rollout],
      ['show', `${rollout}:1`],
      ['tail', batch],
      ['tail', rollout],
      ['report', batch],
      ['tools', batch],
      ['tools', batch, '--calls', `tool${EVIL.replace('\ud800', '\ufffd')}`],
      ['compare', `${batch}/task${EVIL}${FINE}`.replace('\ud800', '\ufffd')],
      ['compare', rollout, other],
      ['batches'],
    ]) {
      const result = await bench.run(args);
      assert.doesNotMatch(texts(result), ACTIVE, args.join(' '));
      assert.ok(result.stdout !== '' || result.code !== 0, args.join(' '));
    }
  });

  it('gets visible replacements, and all other text unchanged', async () => {
    const { stdout } = await bench.run(['tail', rollouts[0] ?? '']);
    assert.match(stdout, /␛\]52;c;aGk=␇/);
    assert.ok(stdout.includes(FINE));
  });

  it('gets JSON that is harmless, and the same value', async () => {
    for (const args of [
      ['show', rollouts[0] ?? ''],
      ['report', batch],
      ['tools', batch],
    ]) {
      const { stdout } = await bench.run([...args, '--json']);
      assert.doesNotMatch(stdout, ACTIVE, args.join(' '));
      assert.equal(typeof JSON.parse(stdout), 'object');
    }
    const { stdout } = await bench.run(['show', rollouts[0] ?? '', '--json']);
    assert.ok(JSON.stringify(JSON.parse(stdout)).includes(JSON.stringify('\x9b2J \x90q\x9c').slice(1, -1)));
  });

  it('gets harmless errors', async () => {
    for (const args of [
      ['show', EVIL.replace('\ud800', '')],
      [EVIL.replace('\ud800', '')],
      ['show', `--${EVIL.replace('\ud800', '')}`],
      ['run', `${EVIL.replace('\ud800', '')}.yaml`],
    ]) {
      const result = await bench.run(args);
      assert.equal(result.code, 2);
      assert.doesNotMatch(texts(result), ACTIVE);
      assert.match(result.stderr, /␛\]52/);
    }
  });
});
