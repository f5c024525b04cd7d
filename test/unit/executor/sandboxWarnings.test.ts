import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SandboxMode } from '../../../src/config/schema/sandboxSection.ts';
import { DEFAULT_SANDBOX, type SubmittedTools } from '../../../src/config/submission.ts';
import { sandboxWarnings } from '../../../src/executor/sandboxWarnings.ts';
import { submission } from '../../support/directed.ts';

const MODULE: SubmittedTools = { kind: 'module', module: { file: 'tools.ts', bundle: 'a', map: 'b' } };
const CALCULATOR: SubmittedTools = { kind: 'builtin', name: 'calculator' };

const warnings = (tools: readonly SubmittedTools[], mode: SandboxMode, reason?: string) => {
  const plain = submission();
  return sandboxWarnings(
    { ...plain, agent: { ...plain.agent, tools: [...tools] }, sandbox: { ...DEFAULT_SANDBOX, mode } },
    () => Promise.resolve(reason),
  );
};

describe('pods without a sandbox', () => {
  const inPods = (isolation: 'shared' | 'pod', mode: SandboxMode) => {
    const plain = submission({ sandbox: { ...DEFAULT_SANDBOX, mode }, pods: { isolation } });
    const batch = { ...plain, agent: { ...plain.agent, tools: [MODULE] } };
    return sandboxWarnings(batch, () => Promise.resolve('not allowed'), 'pods');
  };
  it('are reported where rollouts share them, and refused if the batch requires a sandbox', async () => {
    assert.match((await inPods('shared', 'on'))[0]?.text ?? '', /^Rollouts in the same pod can reach each other, /);
    assert.deepEqual(await inPods('pod', 'on'), []);
    await assert.rejects(inPods('pod', 'required'), { code: 'config' });
  });
});

describe('a machine without a sandbox', () => {
  it('is reported for modules, as for programs', async () => {
    const [warning] = await warnings([MODULE], 'on', 'unshare is not installed');
    assert.deepEqual([warning?.what, warning?.text.slice(0, 29)], ['no_sandbox', 'Tools run without a sandbox, ']);
  });
  it('is refused if the batch requires one', async () => {
    await assert.rejects(warnings([MODULE], 'required', 'unshare is not installed'), { code: 'config' });
  });
  it('is not reported where nothing needs it, where it is off, and where there is one', async () => {
    assert.deepEqual(await warnings([CALCULATOR], 'on', 'none'), []);
    assert.deepEqual(await warnings([MODULE], 'off', 'none'), []);
    assert.deepEqual(await warnings([MODULE], 'required'), []);
  });
});
