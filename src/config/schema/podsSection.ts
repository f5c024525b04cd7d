/** Schema of `pods:` in a batch file: the pods that run the batch if its target is a cluster. */
import { z } from 'zod';
import { DEFAULTS } from '../defaults.ts';
import { amounts, graceSeconds, placement } from './placement.ts';
import { sidecar } from './sidecar.ts';
import { choice, listOf, programs, text, whole } from './values.ts';

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
  ...placement,
  grace_seconds: graceSeconds,
  queue: text('team-a', 'the name of a LocalQueue')
    .optional()
    .describe('Kueue LocalQueue that admits the batch. Its Jobs wait until they are admitted.'),
  backoff: whole(0, DEFAULTS.pods.backoff)
    .optional()
    .describe('How often a failed pod is replaced before its slot is given up.'),
});
export type Pods = z.output<typeof podsSection>;
