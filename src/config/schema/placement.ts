/**
 * Schema of where pods run and what others see of them: in the section `pods` of a batch file, and in the file of
 * `rollout cluster install --pods`.
 */
import { z } from 'zod';
import { quantity } from './sidecar.ts';
import { choice, expects, fault, group, listOf, text, whole } from './values.ts';

/** Converts quantities to strings, as Kubernetes expects. */
function texts(amounts: Readonly<Record<string, string | number | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(amounts).flatMap(([name, amount]) => (amount === undefined ? [] : [[name, String(amount)]])),
  );
}

export const amounts = (what: string): z.ZodType<Record<string, string>> =>
  group(
    {
      cpu: quantity('500m').optional().describe('Number of CPUs, or millicores: `500m`.'),
      memory: quantity('2Gi').optional().describe('Memory: `512Mi`, `2Gi`.'),
      'ephemeral-storage': quantity('10Gi').optional().describe('Disk space on the node.'),
      'nvidia.com/gpu': quantity('1').optional().describe('GPUs, for tools that need one.'),
    },
    'amounts by name',
    '{ cpu: 1, memory: 2Gi }',
  )
    .transform(texts)
    .describe(what);

const toleration = group(
  {
    key: text('nvidia.com/gpu').optional().describe('The key of the taint.'),
    operator: choice(['Equal', 'Exists']).optional().describe('`Exists`: matches any value.'),
    value: text('true').optional().describe('The value of the taint.'),
    effect: choice(['NoSchedule', 'PreferNoSchedule', 'NoExecute'])
      .optional()
      .describe('The effect of the taint. Default: any.'),
    tolerationSeconds: whole(0, 300)
      .optional()
      .describe('How many seconds a pod stays after a taint with the effect `NoExecute` is added.'),
  },
  'a toleration',
  '{ key: nvidia.com/gpu, operator: Exists }',
);

/** Prefixes of labels and annotations by which we, and the cluster, know pods. */
const RESERVED = /^(rollout-studio|batch\.kubernetes\.io|pod-security\.kubernetes\.io|kueue\.x-k8s\.io)\//;
const OURS: readonly string[] = ['name', 'component', 'managed-by'].map((name) => `app.kubernetes.io/${name}`);
/** `[PREFIX/]NAME`, as the API server checks it. */
const KEY = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

function marks(what: string, example: string, value: z.ZodString): z.ZodRecord<z.ZodString, z.ZodString> {
  return z.record(z.string(), value, expects(`${what}s by name`, example)).superRefine((given, context) => {
    for (const key of Object.keys(given)) {
      if (!KEY.test(key))
        fault(context, `\`${key}\` is not the name of a ${what}`, `Write it like \`${example}\`.`, { path: [key] });
      else if (RESERVED.test(key) || OURS.includes(key))
        fault(context, `the ${what} \`${key}\` is set by Rollout Studio`, 'Use another name.', { path: [key] });
    }
  });
}

const SERVICE_ACCOUNT = text('rollouts', 'the name of a ServiceAccount').regex(
  /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/,
  expects('the name of a ServiceAccount', 'rollouts'),
);

/** How pods of the same kind are spread over nodes and zones. */
export const SPREADS = ['preferred', 'required', 'none'] as const;
const secretName = text('registry', 'the name of a Secret');

export const placement = {
  node_selector: z
    .record(
      z.string(),
      z.string(expects('the value of a label', 'NVIDIA-A100-SXM4-80GB')),
      expects('labels of nodes', '{ disktype: ssd }'),
    )
    .optional()
    .describe('Schedules pods only on nodes with these labels.'),
  tolerations: listOf(toleration, 'a list of tolerations', '[]')
    .optional()
    .describe('Node taints that the pods tolerate.'),
  spread: choice(SPREADS)
    .optional()
    .describe('How the pods are spread over nodes and zones: `preferred` (default), `required` over nodes, or `none`.'),
  priority_class: text('batch-low', 'the name of a PriorityClass').optional().describe('PriorityClass of the pods.'),
  labels: marks(
    'label',
    '{ team: research }',
    z.string(expects('text', 'research')).regex(LABEL_VALUE, expects('the value of a label', 'research')),
  )
    .optional()
    .describe('More labels of the pods, e.g. for cost reports.'),
  annotations: marks('annotation', '{ example.org/owner: research }', z.string(expects('text', 'research')))
    .optional()
    .describe('More annotations of the pods.'),
  service_account: SERVICE_ACCOUNT.optional().describe(
    'ServiceAccount of the pods, e.g. one with image pull secrets. Its token is not mounted.',
  ),
} as const;

/** How long a pod may take to end, s: at least what a worker needs to write what it has. */
export const graceSeconds = whole(10, 30)
  .optional()
  .describe(
    'Seconds that a pod has to end, e.g. when its node is drained or reclaimed: calls of models that run may end ' +
      'first, and their rollouts continue in other pods. Default: 30, which spot nodes grant.',
  );

const pullSecrets = listOf(secretName, 'a list of names of Secrets', '[registry]')
  .optional()
  .describe('Secrets with the credentials of registries.');
const sizes = {
  requests: amounts('Resources that each pod requests from the cluster.').optional(),
  limits: amounts('Maximum resources of each pod.').optional(),
};
const EXAMPLE = '{ node_selector: { pool: batch } }';

/** Settings of the pods of vLLM: of all models, or of one of them. */
export const vllmPods = group({ ...placement, image_pull_secrets: pullSecrets, ...sizes }, 'settings of pods', EXAMPLE);

/** The file of `--pods`. */
export const podsFile = z.strictObject({
  server: group(
    {
      ...placement,
      service_account: SERVICE_ACCOUNT.optional().describe(
        'An existing ServiceAccount, which gets the rights of the server. Default: one of our own.',
      ),
      image_pull_secrets: pullSecrets,
      ...sizes,
    },
    'settings of pods',
    EXAMPLE,
  )
    .optional()
    .describe('The pods of the server.'),
  workers: group(
    { ...placement, image_pull_secrets: pullSecrets, ...sizes, grace_seconds: graceSeconds },
    'settings of pods',
    EXAMPLE,
  )
    .optional()
    .describe('The pods of all batches, unless a batch file sets the same key.'),
  vllm: vllmPods.optional().describe('The pods of vLLM, unless the file of `--models` sets the same key for a model.'),
});
export type PodsFile = z.output<typeof podsFile>;
export type ServerPods = NonNullable<PodsFile['server']>;
export type VllmPods = z.output<typeof vllmPods>;
export type WorkerPods = NonNullable<PodsFile['workers']>;
/** Settings that all pods of an installation may have. */
export type Placement = Pick<ServerPods, keyof VllmPods>;
