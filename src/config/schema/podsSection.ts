/** Schema of `pods:` in a batch file: the pods that run the batch if its target is a cluster. */
import { z } from 'zod';
import { DEFAULTS } from '../defaults.ts';
import { choice, expects, fault, group, listOf, programs, text, whole } from './values.ts';

const AMOUNT = /^\d+(\.\d+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$/;
/** Name of the container that runs rollouts. */
const WORKER = 'worker';
/** A value that consists only of an environment variable. */
const ENV_VALUE = /^\$\{env:([^}]+)\}$/;

const amount = (example: string) => {
  const expected = expects('a Kubernetes quantity', example);
  return z.union([z.number(expected).min(0, expected), z.string(expected).regex(AMOUNT, expected)], expected);
};

const amounts = (what: string) =>
  group(
    {
      cpu: amount('500m').optional().describe('Number of CPUs, or millicores: `500m`.'),
      memory: amount('2Gi').optional().describe('Memory: `512Mi`, `2Gi`.'),
      'ephemeral-storage': amount('10Gi').optional().describe('Disk space on the node.'),
      'nvidia.com/gpu': amount('1').optional().describe('GPUs, for tools that need one.'),
    },
    'amounts by name',
    '{ cpu: 1, memory: 2Gi }',
  )
    .transform(texts)
    .describe(what);

/** Converts quantities to strings, as Kubernetes expects. */
function texts(amounts: Readonly<Record<string, string | number | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(amounts).flatMap(([name, amount]) => (amount === undefined ? [] : [[name, String(amount)]])),
  );
}

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

const sidecar = z
  .record(z.string(), z.unknown(), expects('a container', '{ name: browser, image: registry.example.org/browser:1 }'))
  .superRefine((container, context) => {
    for (const [key, what] of [
      ['name', 'a `name`'],
      ['image', 'an `image`'],
    ] as const) {
      if (typeof container[key] !== 'string' || container[key] === '')
        fault(
          context,
          `a sidecar needs ${what}`,
          'For example, write `{ name: browser, image: registry.example.org/browser:1 }`.',
        );
    }
    if (container['name'] === WORKER)
      fault(context, 'a sidecar cannot be named `worker`, the container that runs rollouts', 'Choose another name.', {
        path: ['name'],
      });
    for (const path of misplacedVariables(container)) {
      fault(
        context,
        'in a sidecar, `${env:…}` is only supported as the whole `value` of an entry in `env`',
        'Write `env: [{ name: X, value: "${env:X}" }]`. The container gets the value as a secret.',
        { path },
      );
    }
  });

/** Returns paths of strings with an environment variable, except whole values of entries in `env`. */
function misplacedVariables(value: unknown, path: readonly (string | number)[] = []): (string | number)[][] {
  if (typeof value === 'string') {
    if (!value.includes('${env:')) return [];
    const fits = path.length === 3 && path[0] === 'env' && path[2] === 'value' && ENV_VALUE.test(value);
    return fits ? [] : [[...path]];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    misplacedVariables(item, [...path, Array.isArray(value) ? Number(key) : key]),
  );
}

export const podsSection = z.strictObject({
  image: text('node:24-slim', 'the name of an image')
    .optional()
    .describe(
      'Container image of the workers: any image with Node.js 22.19 or later as `node`. Default: the image of the ' +
        'server.',
    ),
  provides: programs()
    .optional()
    .describe(
      'Programs that the image has beyond Node.js, e.g. `[python, browser]`. Tools that need others are rejected.',
    ),
  pull_policy: choice(['IfNotPresent', 'Always', 'Never'])
    .optional()
    .describe('When a node pulls the image. Default: set by the cluster.'),
  count: whole(1, 16)
    .optional()
    .describe(`Number of concurrent pods. Default: as many as the batch needs, at most ${DEFAULTS.pods.count}.`),
  isolation: choice(['shared', 'pod'])
    .optional()
    .describe('`shared`: a pod runs many rollouts. `pod`: each rollout has its own pod.'),
  requests: amounts('Resources that each pod requests from the cluster.').optional(),
  limits: amounts(
    'Maximum resources of a pod. A pod that exceeds its memory limit is killed, and its rollouts continue in another ' +
      'pod.',
  ).optional(),
  sidecars: listOf(sidecar, 'a list of containers', '[]')
    .optional()
    .describe('Containers that run next to each worker, in Kubernetes format. The worker starts when they are ready.'),
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
  priority_class: text('batch-low', 'the name of a PriorityClass').optional().describe('PriorityClass of the pods.'),
  queue: text('team-a', 'the name of a LocalQueue')
    .optional()
    .describe('Kueue LocalQueue that admits the batch. Its Jobs wait until they are admitted.'),
  service_account: text('rollouts', 'the name of a ServiceAccount')
    .optional()
    .describe('ServiceAccount of the pods, e.g. one with image pull secrets. Its token is not mounted.'),
  backoff: whole(0, DEFAULTS.pods.backoff)
    .optional()
    .describe('How often a failed pod is replaced before its slot is given up.'),
});
