import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseArgs } from 'node:util';
import { parseOptions } from '../../../../../src/cli/command.ts';
import { exportAttempts } from '../../../../../src/cli/commands/export.ts';
import { TRAINING_FORMATS } from '../../../../../src/formats/training/registry.ts';
import {
  changeEntries,
  type ExportChoices,
  endingOf,
  exportArguments,
  formatChoices,
  parseRange,
  previewText,
} from '../../../../../src/host/batches/export/choices.ts';

const all: ExportChoices = {
  format: 'verl',
  selection: {
    outcomes: ['passed', 'failed'],
    reward: { min: -1 },
    rate: { above: 0, below: 1 },
    where: 'step < 20',
    per_task: 4,
    distinct: true,
    split: { seed: 7, share: 0.2, part: 'train' },
  },
  nullReward: 'mask',
  hidePaths: true,
};

describe('the choices of an export', () => {
  it('are arguments that the command line reads', () => {
    const args = exportArguments('b1', all);
    const { values, positionals } = parseArgs({
      args: args.slice(1),
      options: parseOptions(exportAttempts.options),
      allowPositionals: true,
    });
    assert.deepEqual(positionals, ['b1']);
    assert.deepEqual(
      { ...values },
      {
        to: 'verl',
        outcome: ['passed', 'failed'],
        'min-reward': '-1',
        'rate-above': '0',
        'rate-below': '1',
        where: 'step < 20',
        'max-per-task': '4',
        distinct: true,
        split: 'train',
        'test-size': '0.2',
        seed: '7',
        'null-reward': 'mask',
        redact: ['paths'],
      },
    );
    assert.deepEqual(exportArguments('b1', { format: 'csv', selection: {} }), ['export', 'b1', '--to', 'csv']);
  });

  it('are entries with their values; a table has no rule for null rewards', () => {
    const described = (choices: ExportChoices): Record<string, string> =>
      Object.fromEntries(changeEntries(choices).map(({ value, description }) => [value, description]));
    assert.deepEqual(described(all), {
      outcomes: 'passed, failed',
      reward: 'at least -1',
      rate: 'above 0, below 1',
      where: 'step < 20',
      per_task: 'at most 4',
      distinct: 'only the first',
      split: 'train, 0.2 in test, seed 7',
      null_reward: 'masked, with the mean reward of their task',
      paths: 'hidden',
    });
    assert.equal(described({ format: 'sft-trl', selection: {} })['outcomes'], 'passed');
    const table = described({ format: 'csv', selection: {} });
    assert.deepEqual([table['outcomes'], 'null_reward' in table], ['all', false]);
  });

  it('offer every format', () => {
    assert.deepEqual(
      formatChoices().map(({ id }) => id),
      ['csv', ...TRAINING_FORMATS.map(({ id }) => id)],
    );
    assert.deepEqual(['csv', 'parquet', 'verl'].map(endingOf), ['csv', 'parquet', 'jsonl']);
  });

  it('read ranges of which an end may be missing', () => {
    assert.deepEqual(parseRange('0..1'), { low: 0, high: 1 });
    assert.deepEqual(parseRange(' -0.5.. '), { low: -0.5 });
    assert.deepEqual(parseRange('..3'), { high: 3 });
    for (const text of ['1', '1-2', 'a..b', '1...2', '']) assert.equal(parseRange(text), undefined, text);
  });
});

describe('the preview of an export', () => {
  it('shows counts, what is left out, and lines with short lists', () => {
    const text = previewText('desk', all, {
      attempts: 8,
      groups: 2,
      estimated_bytes: 12_345,
      first: [JSON.stringify({ prompt_ids: Array.from({ length: 30 }, (_, index) => index), task: 'a ``` b' })],
      left_out: { attempts: { 'their outcome': 3 }, parts: { 'model calls: the call failed': 2 } },
    });
    assert.match(
      text,
      /^# Export of desk\n\nTokens: verl: 8 attempts of 2 tasks, about 12.* kB\. Nothing is written yet\./,
    );
    assert.match(text, /- 3 attempts: their outcome\n- of the attempts below, 2 model calls: the call failed/);
    assert.match(text, /"prompt_ids": \[0, 1, 2, 3, 4, 5, 6, 7, "… 30 numbers"\]/);
    assert.equal(text.match(/```/g)?.length, 2, 'a line cannot end its block');
  });

  it('shortens what is long, so that each line is JSON: an editor marks brackets without a partner', () => {
    const parsed = { type: 'object', properties: Object.fromEntries(['a', 'b', 'c'].map((name) => [name, { name }])) };
    const line = {
      messages: Array.from({ length: 60 }, (_, index) => ({ role: 'user', content: `${index} `.repeat(500) })),
      tools: Array.from({ length: 5 }, (_, index) => ({ name: `tool ${index}`, parsed })),
      prompt: '{'.repeat(9_000),
    };
    const text = previewText('desk', all, {
      attempts: 1,
      groups: 1,
      estimated_bytes: 1,
      first: [JSON.stringify(line)],
      left_out: { attempts: {}, parts: {} },
    });
    const [, shown = ''] = /```json\n(.*?)\n```/s.exec(text) ?? [];
    assert.ok(shown.length > 1_000 && shown.length <= 4_000, `${shown.length} characters`);
    const value = JSON.parse(shown) as { messages: unknown[]; prompt: string };
    assert.equal(value.messages.at(-1), '… 60 items');
    assert.match(value.prompt, /^\{+… 9,000 characters$/);
  });

  it('shows a table as it is, and no lines as none', () => {
    const shown = { attempts: 0, groups: 0, estimated_bytes: 0, left_out: { attempts: {}, parts: {} } };
    assert.match(
      previewText('d', { format: 'csv', selection: {} }, { ...shown, first: ['a,"b'] }),
      /```csv\na,"b\n```/,
    );
    assert.match(previewText('d', all, { ...shown, first: [] }), /## First lines\n\nNone\./);
  });
});
