/** `pods` of a batch file: how the pods look that run the batch, where its target is a cluster. */
import { z } from 'zod';
import { DEFAULTS } from '../defaults.ts';
import { choice, expects, fault, group, listOf, programs, text, whole } from './values.ts';

const AMOUNT = /^\d+(\.\d+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$/;
/** The container of the rollouts. */
const WORKER = 'worker';
/** A whole value that is an environment variable. */
const ENV_VALUE = /^\$\{env:([^}]+)\}$/;

const amount = (example: string) => {
  const expected = expects('an amount as Kubernetes writes it', example);
  return z.union([z.number(expected).min(0, expected), z.string(expected).regex(AMOUNT, expected)], expected);
};

const amounts = (what: string) =>
  group(
    {
      cpu: amount('500m').optional().describe('CPUs, or thousandths of one: `500m`.'),
      memory: amount('2Gi').optional().describe('Memory: `512Mi`, `2Gi`.'),
      'ephemeral-storage': amount('10Gi').optional().describe('Room on the disk of the node.'),
      'nvidia.com/gpu': amount('1').optional().describe('GPUs, for tools that need one.'),
    },
    'amounts by name',
    '{ cpu: 1, memory: 2Gi }',
  )
    .transform(texts)
    .describe(what);

/** Kubernetes has them as texts. */
function texts(amounts: Readonly<Record<string, string | number | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(amounts).flatMap(([name, amount]) => (amount === undefined ? [] : [[name, String(amount)]])),
  );
}

const toleration = group(
  {
    key: text('nvidia.com/gpu').optional().describe('The key of the taint.'),
    operator: choice(['Equal', 'Exists']).optional().describe('`Exists`: whatever its value is.'),
    value: text('true').optional().describe('The value of the taint.'),
    effect: choice(['NoSchedule', 'PreferNoSchedule', 'NoExecute'])
      .optional()
      .describe('The effect of the taint. Absent: any.'),
    tolerationSeconds: whole(0, 300)
      .optional()
      .describe('How long a pod stays after a taint with the effect `NoExecute` came.'),
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
          'Write for example `{ name: browser, image: registry.example.org/browser:1 }`.',
        );
    }
    if (container['name'] === WORKER)
      fault(
        context,
        'a sidecar cannot be called `worker`: that is the container of the rollouts',
        'Choose another name.',
        { path: ['name'] },
      );
    for (const path of misplacedVariables(container)) {
      fault(
        context,
        '`${env:…}` works in a sidecar only as the whole `value` of an entry of its `env`',
        'Write `env: [{ name: X, value: "${env:X}" }]`; the value then reaches the container as a secret.',
        { path },
      );
    }
  });

/** Paths of texts with an environment variable that are not the whole value of an entry of `env`. */
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
      'Container image of the workers: any that has Node.js 22.19 or newer as `node`. Absent: the one the server ' +
        'runs on.',
    ),
  provides: programs()
    .optional()
    .describe(
      'Programs that the image has beyond Node.js, e.g. `[python, browser]`: what tools need is looked for among them.',
    ),
  pull_policy: choice(['IfNotPresent', 'Always', 'Never'])
    .optional()
    .describe('When a node fetches the image. Absent: as the cluster does by itself.'),
  count: whole(1, 16)
    .optional()
    .describe(`How many pods work at once. Absent: as many as the batch has work for, at most ${DEFAULTS.pods.count}.`),
  isolation: choice(['shared', 'pod'])
    .optional()
    .describe('`shared`: a pod runs many rollouts. `pod`: each rollout has a pod of its own.'),
  requests: amounts('What each pod asks the cluster for.').optional(),
  limits: amounts(
    'What a pod may use at most; one that uses more memory is ended, and its rollouts go on elsewhere.',
  ).optional(),
  sidecars: listOf(sidecar, 'a list of containers', '[]')
    .optional()
    .describe(
      'Containers that run beside each worker, as Kubernetes writes them. The worker starts once they are ready.',
    ),
  node_selector: z
    .record(
      z.string(),
      z.string(expects('the value of a label', 'NVIDIA-A100-SXM4-80GB')),
      expects('labels of nodes', '{ disktype: ssd }'),
    )
    .optional()
    .describe('Only nodes with these labels.'),
  tolerations: listOf(toleration, 'a list of tolerations', '[]')
    .optional()
    .describe('Taints of nodes that do not keep the pods away.'),
  priority_class: text('batch-low', 'the name of a PriorityClass').optional().describe('PriorityClass of the pods.'),
  queue: text('team-a', 'the name of a LocalQueue')
    .optional()
    .describe('LocalQueue of Kueue that admits the batch; its Jobs wait until it does.'),
  service_account: text('rollouts', 'the name of a ServiceAccount')
    .optional()
    .describe('ServiceAccount of the pods, e.g. one with image pull secrets. Pods get no token of it.'),
  backoff: whole(0, DEFAULTS.pods.backoff)
    .optional()
    .describe('How often a pod that failed is replaced before its place is given up.'),
});
export type PodsSection = z.output<typeof podsSection>;
