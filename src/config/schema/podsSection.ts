/** Schema of `pods:` in a batch file: the pods that run the batch if its target is a cluster. */
import { z } from 'zod';
import { DEFAULTS } from '../defaults.ts';
import { quantity, sidecar } from './sidecar.ts';
import { choice, expects, group, listOf, programs, text, whole } from './values.ts';

const amounts = (what: string) =>
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
  requests: amounts(
    'Resources that the tools of each pod request from the cluster. Its worker adds a little.',
  ).optional(),
  limits: amounts(
    'Maximum resources of the tools of a pod, and of its worker. A pod that exceeds a memory limit ends, and its ' +
      'rollouts continue in another pod.',
  ).optional(),
  sidecars: listOf(sidecar, 'a list of containers', '[]')
    .optional()
    .describe(
      'Containers that run next to each worker, with these fields of the Kubernetes format. The worker starts when ' +
        'they are ready. They run without root and without rights, and get a volume of their own at `/tmp`.',
    ),
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
export type Pods = z.output<typeof podsSection>;
