/** The flags that `rollout cluster install --vllm-gpu` computes, read by vLLM's own parser. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { z } from 'zod';
import { VLLM_GPUS } from '../../../src/config/schema/modelsFile.ts';
import { resolveOptions } from '../../../src/kubernetes/install/options.ts';
import { vllm as manifestsOf } from '../../../src/kubernetes/install/vllm/manifests.ts';
import { examples, knownShape } from '../../../src/kubernetes/install/vllm/sizing/catalog.ts';
import { memoryOf } from '../../../src/kubernetes/install/vllm/sizing/memory.ts';
import { fittingGpus, planOf } from '../../../src/kubernetes/install/vllm/sizing/plan.ts';
import { pythonOfKit } from './python.ts';

const parsed = z.object({
  model: z.string(),
  gpus: z.number(),
  max_model_len: z.number(),
  max_num_seqs: z.number(),
  utilization: z.number(),
  prefix_caching: z.boolean(),
  tool_parser: z.string().nullable(),
  reasoning_parser: z.string().nullable(),
  tokenizer_mode: z.string(),
});
const answer = z.object({
  lines: z.array(z.union([parsed, z.object({ error: z.string() })])),
  caches: z.array(z.number()),
  utilization: z.number(),
});

/** Models whose families are known, but whose sizes are not. */
const SIZED_BY_FILE = [
  'meta-llama/Llama-4-Scout-17B',
  'zai-org/GLM-4.7-Flash',
  'ibm-granite/granite-4.1',
  'MiniMaxAI/MiniMax-M2',
];
/** What it must refuse, so that the check can fail. */
const WRONG = [
  ['org/model', '--enable-prefix-cache', '--no-such-flag'],
  ['org/model', '--enable-auto-tool-choice'],
  ['org/model', '--enable-auto-tool-choice', '--tool-call-parser', 'no_such_parser'],
  ['org/model', '--max-num-seqs', 'many'],
];

/** Importing vLLM takes up to a minute on a busy machine. */
const TIMEOUT_MS = 240_000;

async function ask(question: object): Promise<z.output<typeof answer>> {
  const script = fileURLToPath(new URL('parse_flags.py', import.meta.url));
  const running = promisify(execFile)(pythonOfKit(), ['-W', 'ignore', script], {
    timeout: TIMEOUT_MS,
    env: { ...process.env, HF_HUB_OFFLINE: '1', VLLM_NO_USAGE_STATS: '1' },
  });
  running.child.stdin?.end(JSON.stringify(question));
  return answer.parse(JSON.parse((await running).stdout));
}

/** Returns what `vllm serve` gets in the pod. */
function lineOf(vllm: Parameters<typeof resolveOptions>[0]['vllm']): string[] {
  const options = resolveOptions({ vllm });
  assert.ok(options.vllm !== undefined);
  const objects = manifestsOf({ name: undefined, options: options.vllm }, options, 'team');
  const deployment = z
    .object({
      spec: z.object({
        template: z.object({
          spec: z.object({
            containers: z.array(z.object({ command: z.array(z.string()), args: z.array(z.string()) })),
          }),
        }),
      }),
    })
    .parse(objects.find(({ kind }) => kind === 'Deployment'));
  const [container] = deployment.spec.template.spec.containers;
  assert.ok(container !== undefined);
  return [...container.command.slice(2), ...container.args];
}

export function describeTemplates(): void {
  describe('flags by model size', { timeout: TIMEOUT_MS }, () => {
    const templates = examples().flatMap((model) =>
      VLLM_GPUS.flatMap((gpu) => {
        try {
          return [{ model, gpu, gpus: fittingGpus({ model, gpu, loras: [], arguments: [] }) }];
        } catch {
          return []; // it does not fit on 8 of them
        }
      }),
    );
    let said: z.output<typeof answer>;
    before(async () => {
      const shape = knownShape('Qwen/Qwen3-8B');
      said = await ask({
        lines: [
          ...templates.map((template) => lineOf({ ...template, loras: ['clerk=/cache/clerk'] })),
          ...SIZED_BY_FILE.map((model) => lineOf({ model, gpu: 'a100-80', gpus: 1, ...(shape && { shape }) })),
          ...WRONG,
        ],
        caches: templates.map(({ model, gpus }) => {
          const found = knownShape(model);
          return { kv_heads: found?.kvHeads, head_size: found?.headSize, gpus, dtype: 'bfloat16' };
        }),
      });
    });

    it('are flags that it knows, with values that it takes', () => {
      assert.ok(templates.length > 45, String(templates.length));
      for (const [at, { model, gpu, gpus }] of templates.entries()) {
        const line = said.lines[at];
        assert.ok(line !== undefined && 'model' in line, `${model} on ${gpu}: ${JSON.stringify(line)}`);
        const { flags, family } = planOf({ model, gpu, gpus, loras: ['clerk=/cache/clerk'], arguments: [] });
        assert.deepEqual(line, {
          model,
          gpus,
          max_model_len: Number(flags['--max-model-len']),
          max_num_seqs: Number(flags['--max-num-seqs']),
          utilization: Number(flags['--gpu-memory-utilization']),
          prefix_caching: true,
          tool_parser: family?.toolParser ?? null,
          reasoning_parser: family?.reasoningParser ?? null,
          tokenizer_mode: family?.flags?.['--tokenizer-mode'] ?? 'auto',
        });
        assert.equal(line.utilization, said.utilization, 'its own default');
      }
    });

    it('name parsers that it has, also for families whose sizes come from a file', () => {
      const lines = said.lines.slice(templates.length, templates.length + SIZED_BY_FILE.length);
      assert.deepEqual(
        lines.map((line) => ('model' in line ? [line.model, line.tool_parser !== null] : line.error)),
        SIZED_BY_FILE.map((model) => [model, true]),
      );
    });

    it('would be refused if they were wrong', () => {
      const lines = said.lines.slice(-WRONG.length);
      assert.deepEqual(
        lines.map((line) => 'error' in line),
        WRONG.map(() => true),
      );
    });

    it('count the bytes of a token as its engine does', () => {
      for (const [at, { model, gpu, gpus }] of templates.entries()) {
        const shape = knownShape(model);
        assert.ok(shape !== undefined);
        const { perToken } = memoryOf({ shape, gpu, gpus, utilization: 0.92, cacheBytes: 2, hasAdapters: false });
        assert.equal(perToken, shape.layers * (said.caches[at] ?? 0), `${model} on ${gpus} × ${gpu}`);
      }
    });
  });
}
