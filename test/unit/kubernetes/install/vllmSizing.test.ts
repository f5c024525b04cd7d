/** Flags of vLLM by the size of a model: the arithmetic, what does not fit, and who wins. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { StudioError } from '../../../../src/common/errors.ts';
import { count } from '../../../../src/common/units.ts';
import { modelArguments } from '../../../../src/kubernetes/install/vllm/modelArguments.ts';
import { vllmOptions } from '../../../../src/kubernetes/install/vllm/options.ts';
import { examples, knownShape } from '../../../../src/kubernetes/install/vllm/sizing/catalog.ts';
import { shapeOfConfig } from '../../../../src/kubernetes/install/vllm/sizing/configJson.ts';
import { GPU_FACTS, type Gpu } from '../../../../src/kubernetes/install/vllm/sizing/gpus.ts';
import { capacity, memoryOf } from '../../../../src/kubernetes/install/vllm/sizing/memory.ts';
import { fittingGpus, planOf } from '../../../../src/kubernetes/install/vllm/sizing/plan.ts';

const GIB = 1024 ** 3;

function shapeOf(model: string) {
  const shape = knownShape(model);
  assert.ok(shape !== undefined, model);
  return shape;
}

function argumentsOf(options: Readonly<Record<string, unknown>>): string[] {
  return modelArguments(vllmOptions.parse(options));
}

function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    assert.ok(StudioError.is(error, 'usage'), String(error));
    return `${error.message} ${error.hint ?? ''}`;
  }
  return assert.fail('it fits');
}

describe('the memory of a model', () => {
  const serving = { gpu: 'a100-80', utilization: 0.92, cacheBytes: 2, hasAdapters: false } as const;

  it('is weights divided by the GPUs, and a cache of keys and values for each layer and head', () => {
    const shape = shapeOf('Qwen/Qwen3-32B');
    const one = memoryOf({ ...serving, shape, gpus: 1 });
    // 64 layers × 8 heads × 128 × (key and value) × 2 bytes
    assert.equal(one.perToken, 64 * 8 * 128 * 2 * 2);
    assert.equal(Math.round(one.weights / GIB), 61);
    assert.equal(one.cache, one.usable - one.weights - one.reserve);
    const four = memoryOf({ ...serving, shape, gpus: 4 });
    assert.deepEqual([four.perToken * 4, four.weights * 4], [one.perToken, one.weights]);
    assert.equal(memoryOf({ ...serving, shape, gpus: 1, cacheBytes: 1 }).perToken, one.perToken / 2);
    // 8 heads on 16 GPUs: each keeps one.
    assert.equal(memoryOf({ ...serving, shape, gpus: 16 }).perToken, one.perToken / 8);
    assert.equal(capacity(one, 40_960), Math.floor(one.cache / (40_960 * one.perToken)));
    assert.equal(capacity({ ...one, cache: -1 }, 1), 0);
  });

  it('counts layers with a window, and those without attention, once for each sequence', () => {
    const { perToken, perSequence } = memoryOf({ ...serving, shape: shapeOf('openai/gpt-oss-20b'), gpus: 1 });
    assert.deepEqual([perToken, perSequence], [12 * 8 * 64 * 2 * 2, 12 * 128 * 8 * 64 * 2 * 2]);
    const linear = memoryOf({ ...serving, shape: shapeOf('Qwen/Qwen3.5-35B-A3B'), gpus: 2 });
    assert.equal(linear.perToken, 10 * 1 * 256 * 2 * 2);
    assert.equal(linear.perSequence, (30 * (4 * 32 * 128 * 128 + 2 * 3 * (2 * 16 * 128 + 32 * 128))) / 2);
  });

  it('is that of one vector for each layer, on every GPU, with latent attention', () => {
    const shape = { ...shapeOf('Qwen/Qwen3-8B'), latent: 576 };
    assert.equal(memoryOf({ ...serving, shape, gpus: 4 }).perToken, 36 * 576 * 2);
  });
});

describe('a config.json', () => {
  const qwen3 = {
    architectures: ['Qwen3ForCausalLM'],
    head_dim: 128,
    hidden_size: 5120,
    intermediate_size: 25_600,
    max_position_embeddings: 40_960,
    num_attention_heads: 64,
    num_hidden_layers: 64,
    num_key_value_heads: 8,
    sliding_window: null,
    tie_word_embeddings: false,
    use_sliding_window: false,
    vocab_size: 151_936,
  };

  it('says the same as what is known by the name', () => {
    const known = shapeOf('Qwen/Qwen3-32B');
    const read = shapeOfConfig(qwen3, 'mine/tuned');
    assert.deepEqual({ ...read, weights: 0 }, { ...known, weights: 0 });
    assert.ok(Math.abs(read.weights / known.weights - 1) < 0.01, `${read.weights} of ${known.weights}`);
    assert.equal(shapeOfConfig(qwen3, 'mine/tuned', 123).weights, 123);
    const quantized = { ...qwen3, quantization_config: { quant_method: 'awq', bits: 4 } };
    // The repository Qwen/Qwen3-32B-AWQ has 19.3 GB.
    assert.ok(Math.abs(shapeOfConfig(quantized, 'mine/tuned').weights / 19.3e9 - 1) < 0.03);
  });

  it('is understood for mixtures, windows, and nets without attention', () => {
    const mixture = {
      ...{ ...qwen3, hidden_size: 2048, num_attention_heads: 32, num_hidden_layers: 48, num_key_value_heads: 4 },
      ...{ num_experts: 128, moe_intermediate_size: 768, intermediate_size: 6144 },
    };
    assert.ok(Math.abs(shapeOfConfig(mixture, 'm').weights / 61e9 - 1) < 0.01);
    const windows = {
      ...qwen3,
      layer_types: Array.from({ length: 64 }, (_, at) => (at % 4 === 3 ? 'full_attention' : 'sliding_attention')),
    };
    const { layers, window } = shapeOfConfig({ ...windows, sliding_window: 4096, use_sliding_window: true }, 'm');
    assert.deepEqual([layers, window], [16, { layers: 48, tokens: 4096 }]);
    const linear = shapeOfConfig(
      {
        text_config: {
          ...qwen3,
          ...{
            hidden_size: 2048,
            num_hidden_layers: 40,
            num_attention_heads: 16,
            num_key_value_heads: 2,
            head_dim: 256,
          },
          ...{ linear_num_key_heads: 16, linear_num_value_heads: 32, linear_key_head_dim: 128 },
          ...{ linear_value_head_dim: 128, linear_conv_kernel_dim: 4 },
          layer_types: Array.from({ length: 40 }, (_, at) => (at % 4 === 3 ? 'full_attention' : 'linear_attention')),
        },
      },
      'm',
    );
    const known = shapeOf('Qwen/Qwen3.5-35B-A3B');
    assert.deepEqual([linear.layers, linear.state], [known.layers, known.state]);
  });

  it('that is none is refused, with what to do', () => {
    assert.throws(() => shapeOfConfig({ model_type: 'x' }, 'm'), {
      code: 'config',
      message: 'The configuration of m has no usable num_hidden_layers.',
    });
  });
});

describe('flags for a GPU', () => {
  it('are those that fit', () => {
    const input = { model: 'Qwen/Qwen3-32B', gpu: 'a100-80', loras: [], arguments: [] } as const;
    const gpus = fittingGpus(input);
    const { flags, explanation } = planOf({ ...input, gpus });
    assert.equal(gpus, 2);
    assert.deepEqual(flags, {
      '--max-model-len': '40960',
      '--gpu-memory-utilization': '0.92',
      '--max-num-seqs': '39',
      '--enable-prefix-caching': true,
    });
    assert.deepEqual(explanation, [
      'Qwen/Qwen3-32B on 2 × A100 80 GB, for each GPU:',
      '  usable       79.2 GiB × 0.92 = 72.8 GiB',
      '  weights      61.0 GiB / 2 = 30.5 GiB',
      '  vLLM itself  2.8 GiB (activations, CUDA graphs, libraries; an estimate)',
      '  KV cache     39.5 GiB / 128.0 KiB for each token = 323,732 tokens',
      '  at once      7 calls of 40,960 tokens, or 39 of 8,192; more wait (--max-num-seqs 39)',
    ]);
  });

  it('are not computed for what does not fit, and the error says what does', () => {
    const input = { model: 'Qwen/Qwen3-32B', gpu: 'a100-40', loras: [], arguments: [] } as const;
    const small = refusal(() => planOf({ ...input, gpus: 1 }));
    assert.match(
      small,
      /^Qwen\/Qwen3-32B does not fit on 1 × A100 40 GB: of 36\.2 GiB on each, its weights take 61\.0 GiB /,
    );
    assert.match(small, / What fits: --vllm-gpus 2, or --vllm-gpu a100-80 with --vllm-gpus 1, or a smaller model, /);
    assert.match(small, / such as Qwen\/Qwen3-8B, or quantized weights/);
    const long = ['--max-model-len', '128K'];
    assert.match(
      refusal(() => planOf({ ...input, gpu: 'a100-80', gpus: 1, arguments: long })),
      /A call of 131,072 tokens needs 32\.0 GiB\. What fits: --max-model-len \d+, or --vllm-gpus 2, /,
    );
    assert.match(
      refusal(() => planOf({ ...input, gpus: 3 })),
      /cannot be split across 3 GPUs.* --vllm-gpus 1 or 2 or 4 or 8/,
    );
    assert.match(
      refusal(() => fittingGpus({ ...input, model: 'Qwen/Qwen3-235B-A22B' })),
      /does not fit on 4 × A100 40 GB|does not fit on 8 × A100 40 GB/,
    );
    assert.match(
      refusal(() => planOf({ ...input, gpus: 1, model: 'me/own' })),
      /The size of me\/own is not known.*--vllm-model-config FILE, or leave out --vllm-gpu a100-40/,
    );
  });

  it('yield to the arguments of the user, however these are written', () => {
    const model = 'Qwen/Qwen3-8B';
    assert.deepEqual(argumentsOf({ model, gpu: 'a100-80' }), [
      ...['--enable-auto-tool-choice', '--tool-call-parser', 'hermes', '--reasoning-parser', 'qwen3'],
      ...['--max-model-len', '40960', '--gpu-memory-utilization', '0.92', '--max-num-seqs', '48'],
      '--enable-prefix-caching',
    ]);
    const own = ['--max_model_len=16k', '--max-num-seqs', '7', '--no-enable-prefix-caching'];
    assert.deepEqual(argumentsOf({ model, gpu: 'a100-80', toolParser: 'none', reasoningParser: 'x', arguments: own }), [
      ...['--reasoning-parser', 'x', '--gpu-memory-utilization', '0.92'],
    ]);
    const parser = argumentsOf({ model, gpu: 'a100-80', arguments: ['--tool-call-parser', 'qwen3_xml'] });
    assert.ok(parser.includes('--enable-auto-tool-choice') && !parser.includes('--tool-call-parser'));
  });

  it('are none without a GPU: installations stay as they are', () => {
    assert.deepEqual(argumentsOf({ model: 'Qwen/Qwen3-8B', gpus: 4, toolParser: 'hermes' }), [
      ...['--enable-auto-tool-choice', '--tool-call-parser', 'hermes'],
    ]);
    assert.deepEqual(argumentsOf({ model: 'Qwen/Qwen-AgentWorld-35B-A3B' }), [
      ...['--max-model-len', '262144', '--reasoning-parser', 'qwen3', '--language-model-only', '--trust-remote-code'],
    ]);
  });

  it('never make a context that holds no call, and never more calls than the cache holds', () => {
    for (const model of examples())
      for (const gpu of Object.keys(GPU_FACTS) as Gpu[]) {
        const input = { model, gpu, loras: [], arguments: [] };
        let gpus: number;
        try {
          gpus = fittingGpus(input);
        } catch (error) {
          assert.ok(StudioError.is(error, 'usage') && /235B/.test(model), `${model} on ${gpu}: ${String(error)}`);
          continue;
        }
        const { flags } = planOf({ ...input, gpus });
        const shape = shapeOf(model);
        const memory = memoryOf({ shape, gpu, gpus, utilization: 0.92, cacheBytes: 2, hasAdapters: false });
        const length = Number(flags['--max-model-len']);
        assert.ok(length >= 16_384 && length <= shape.context, `${model} on ${gpu}: ${length}`);
        assert.ok(capacity(memory, length) >= 1 && Number(flags['--max-num-seqs']) <= 256);
      }
  });
});

describe('the table of the guide', () => {
  it('has the figures that are computed', () => {
    const guide = readFileSync(new URL('../../../../docs/guide/cluster.md', import.meta.url), 'utf8');
    const rows = [...guide.matchAll(/^\| `([^`|]+\/[^`|]+)` \| (.+) \| (.+) \| (.+) \|$/gm)];
    assert.ok(rows.length >= 10, String(rows.length));
    for (const [, model = '', weights, ...cells] of rows) {
      assert.equal(weights, `${(shapeOf(model).weights / GIB).toFixed(0)} GiB`, model);
      for (const [at, gpu] of (['a100-40', 'a100-80'] as const).entries())
        assert.equal(cells[at], cell(model, gpu), `${model} on ${gpu}`);
    }
  });
});

function cell(model: string, gpu: Gpu): string {
  const input = { model, gpu, loras: [], arguments: [] };
  try {
    const gpus = fittingGpus(input);
    const { flags } = planOf({ ...input, gpus });
    return `${gpus}, ${count(Number(flags['--max-model-len']))}, ${String(flags['--max-num-seqs'])}`;
  } catch (error) {
    assert.ok(StudioError.is(error, 'usage'), String(error));
    return '–';
  }
}
