/** Settings of the pods of a batch. */
import { z } from 'zod';
import { position } from './parts.ts';

const amounts = z.record(z.string(), z.string());
/** An object in Kubernetes format. */
const fields = z.record(z.string(), z.unknown());

export const submittedPods = z.object({
  image: z.string().optional(),
  /** Programs that the image has beyond Node.js. */
  provides: z.array(z.string()).optional(),
  pull_policy: z.enum(['IfNotPresent', 'Always', 'Never']).optional(),
  count: z.number().int().min(1).optional(),
  isolation: z.enum(['shared', 'pod']).optional(),
  requests: amounts.optional(),
  limits: amounts.optional(),
  /** Containers in Kubernetes format; see `schema/sidecar.ts` for what they may set, which the server checks. */
  sidecars: z.array(fields).optional(),
  /** Where each of them is written; absent in submissions of older versions. */
  sidecar_positions: z.array(position).optional(),
  node_selector: z.record(z.string(), z.string()).optional(),
  tolerations: z.array(fields).optional(),
  priority_class: z.string().optional(),
  queue: z.string().optional(),
  service_account: z.string().optional(),
  spread: z.enum(['preferred', 'required', 'none']).optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  grace_seconds: z.number().int().min(10).optional(),
  backoff: z.number().int().min(0).optional(),
});
export type SubmittedPods = z.infer<typeof submittedPods>;
