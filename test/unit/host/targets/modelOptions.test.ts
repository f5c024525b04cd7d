import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it } from 'node:test';
import {
  hasChoice,
  type ModelsChoice,
  modelsText,
  type StoredModels,
  setModels,
} from '../../../../src/host/targets/modelOptions.ts';

const INSTALLED: StoredModels = { vllm: { model: 'org/first', gpu: 'a100-40' }, models: { judge: {}, small: {} } };

/** Returns the options after choices, and what the row shows. */
function after(stored: StoredModels, ...choices: ModelsChoice[]): [Record<string, string>, string] {
  const values = new Map<string, string>();
  for (const choice of choices) setModels(values, stored, choice);
  const text = modelsText(values, stored, (file) => path.posix.basename(file));
  assert.equal(hasChoice(values), values.size > 0);
  return [Object.fromEntries(values), text];
}

describe('the models of the installation form', () => {
  it('are one model, those of a file, or both', () => {
    assert.deepEqual(after(undefined), [{}, 'none']);
    assert.deepEqual(after(undefined, { model: 'org/m', gpu: 'a100-80' }), [
      { vllm: 'org/m', 'vllm-gpu': 'a100-80' },
      'org/m',
    ]);
    assert.deepEqual(after(undefined, { model: 'org/m', gpu: 'none' }), [{ vllm: 'org/m' }, 'org/m']);
    assert.deepEqual(after(undefined, { model: 'org/m', gpu: 'none' }, { file: '/w/models.yaml' }), [
      { vllm: 'org/m', models: '/w/models.yaml' },
      'org/m, models of models.yaml',
    ]);
    assert.deepEqual(after(undefined, { file: '/w/models.yaml' }, 'none'), [{}, 'none']);
  });

  it('are carried on by an upgrade, which sends only what differs', () => {
    assert.deepEqual(after(INSTALLED), [{}, 'org/first, judge, small']);
    assert.deepEqual(after(INSTALLED, { model: 'org/first', gpu: 'a100-40' }), [{}, 'org/first, judge, small']);
    assert.deepEqual(after(INSTALLED, { model: 'org/first', gpu: 'none' }), [
      { 'vllm-gpu': 'none' },
      'org/first, judge, small',
    ]);
    assert.deepEqual(after(INSTALLED, { file: '/w/models.yaml' }), [
      { models: '/w/models.yaml' },
      'org/first, models of models.yaml',
    ]);
    assert.deepEqual(after(INSTALLED, 'none'), [{ vllm: 'none', models: 'none' }, 'none']);
    assert.deepEqual(after(INSTALLED, 'none', 'kept'), [{}, 'org/first, judge, small']);
  });
});
