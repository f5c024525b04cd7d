/** Schema of the file of `rollout cluster install --models`: models that vLLM serves next to the server. */
import { z } from 'zod';
import { vllmPods } from './placement.ts';
import { quantity } from './sidecar.ts';
import { choice, expects, fault, group, listOf, path, text, whole } from './values.ts';

/** GPUs for which flags are computed. */
export const VLLM_GPUS = ['a100-40', 'a100-80'] as const;

const secret = (what: string) => text('vllm', 'the name of a Secret').optional().describe(what);

const GPUS = 'nvidia.com/gpu';

const ownPods = vllmPods.superRefine(({ requests, limits }, context) => {
  for (const [name, amounts] of Object.entries({ requests, limits }))
    if (amounts?.[GPUS] !== undefined)
      fault(context, `\`${GPUS}\` is not set here`, 'Write `gpus: 2` next to `model`.', { path: [name, GPUS] });
});

const model = group(
  {
    model: text('Qwen/Qwen3-8B').describe('Name on the Hugging Face hub, a folder, or `s3://BUCKET/FOLDER`.'),
    gpu: choice(VLLM_GPUS)
      .optional()
      .describe('The GPU for which flags are computed that `arguments` does not have. Default: none are.'),
    gpus: whole(1, 2).optional().describe('GPUs of each replica. Default: with `gpu`, as few as fit; otherwise 1.'),
    model_config: path('config.json')
      .optional()
      .describe('The `config.json` of the model, or its folder, for `gpu`, if its size is not known by its name.'),
    replicas: whole(1, 2).optional().describe('Replicas, or their minimum with `autoscale`. Default: 1.'),
    products: listOf(text('NVIDIA-A100-SXM4-80GB'), 'a list of labels', '[NVIDIA-A100-SXM4-80GB]')
      .min(1, expects('a list of labels', '[NVIDIA-A100-SXM4-80GB]'))
      .optional()
      .describe('Values of the label `nvidia.com/gpu.product` of the nodes to use. Default: those of `gpu`, or A100s.'),
    tool_parser: text('hermes').optional().describe('vLLM’s tool call parser. `none`: not that of `gpu`.'),
    reasoning_parser: text('qwen3').optional().describe('vLLM’s reasoning parser. `none`: not that of `gpu`.'),
    queue: whole(1, 512).optional().describe('Maximum number of waiting requests. Default: 512.'),
    image: text('vllm/vllm-openai:v0.32.0').optional().describe('Image of vLLM.'),
    cache: text('pvc')
      .optional()
      .describe('Where weights are cached: `pvc[:CLASS]`, `claim:NAME`, `hostPath:/FOLDER`, `emptyDir` (default).'),
    cache_size: text('200Gi').optional().describe('Size of the volume claim of the cache. Default: 200Gi.'),
    shared_memory: quantity('16Gi')
      .optional()
      .describe('Shared memory of each replica, which counts as memory of its pod. Default: 2Gi for each GPU.'),
    pods: ownPods
      .optional()
      .describe('Where its pods run, and their resources. A key replaces that of `vllm` in the file of `--pods`.'),
    token_secret: secret('Secret whose key `token` gives access to models that are not public.'),
    api_key_secret: secret('Secret whose key `api-key` every call must have.'),
    s3_secret: secret('Secret with the credentials for weights in S3.'),
    adapters: z
      .record(text('clerk'), text('org/clerk-lora'), expects('paths by name', '{ clerk: org/clerk-lora }'))
      .optional()
      .describe('LoRA adapters, which batches use as models of these names.'),
    autoscale: group(
      {
        by: choice(['keda', 'hpa']).describe('`keda`: a ScaledObject; `hpa`: a custom metric.'),
        max_replicas: whole(2, 8).describe('Maximum number of replicas.'),
        prometheus: text('http://prometheus.monitoring:9090').optional().describe('Prometheus that KEDA asks.'),
      },
      'settings of autoscaling',
      '{ by: keda, max_replicas: 8, prometheus: http://prometheus.monitoring:9090 }',
    )
      .optional()
      .describe('Adds replicas while requests wait.'),
    upgrade: choice(['in_place', 'surge'])
      .optional()
      .describe('How replicas are replaced: `in_place` (default), or `surge` if there are GPUs to spare.'),
    arguments: listOf(text('--max-model-len=32768'), 'a list of arguments', '[--max-model-len, "32768"]')
      .optional()
      .describe('Further arguments of `vllm serve`. They win.'),
  },
  'settings of a model',
  '{ model: Qwen/Qwen3-8B, gpu: a100-40 }',
);

/** Names of models are part of names of objects. */
export const MODEL_NAME = /^[a-z]([a-z0-9-]{0,28}[a-z0-9])?$/;

export const modelsFile = z.strictObject({
  version: z.literal(1, expects('1', '1')).optional().describe('Version of the format.'),
  models: z
    .record(
      text('small', 'a name').regex(
        MODEL_NAME,
        expects('a name of at most 30 lower-case letters, digits, and -', 'small'),
      ),
      model,
      expects('models by name', '{ small: { model: Qwen/Qwen3-8B } }'),
    )
    .describe('Models by name. Their Deployments and Services are called `rollout-studio-vllm-NAME`.'),
});
export type ModelsFile = z.output<typeof modelsFile>;
export type ModelSettings = ModelsFile['models'][string];
