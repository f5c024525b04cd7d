/** Weights that vLLM streams from S3 to its GPUs, without a copy on a disk (Run:ai Model Streamer). */

import { secretEnv } from '../manifests/pods.ts';
import type { VllmOptions } from './options.ts';
import { hasFlag } from './sizing/plan.ts';

const LOAD_FORMAT = '--load-format';
/** Keys of the Secret, which are the variables of the AWS SDKs. */
const REQUIRED = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'];
const OPTIONAL = ['AWS_SESSION_TOKEN', 'AWS_ENDPOINT_URL', 'AWS_REGION'];

/** Returns the arguments for a model in a bucket, unless the options load it another way. */
export function s3Arguments({ model, arguments: own }: VllmOptions): string[] {
  return model.startsWith('s3://') && !hasFlag(own, LOAD_FORMAT) ? [LOAD_FORMAT, 'runai_streamer'] : [];
}

/** Returns the variables for weights in a bucket: those of the `secret`, and how to reach a storage other than AWS. */
export function s3Env({ model, s3Secret: secret }: VllmOptions): Readonly<Record<string, unknown>>[] {
  const isUsed = model.startsWith('s3://') || secret !== undefined;
  // The streamer would ask `BUCKET.HOST`, a name that storage in a cluster does not have.
  return isUsed ? [...credentials(secret), { name: 'RUNAI_STREAMER_S3_USE_VIRTUAL_ADDRESSING', value: '0' }] : [];
}

function credentials(secret: string | undefined): Readonly<Record<string, unknown>>[] {
  if (secret === undefined) return [];
  const optional = (name: string) => ({
    name,
    valueFrom: { secretKeyRef: { name: secret, key: name, optional: true } },
  });
  return [
    ...REQUIRED.map((name) => secretEnv(name, secret, name)),
    ...OPTIONAL.map(optional),
    // Its addresses are blocked for pods.
    { name: 'AWS_EC2_METADATA_DISABLED', value: 'true' },
  ];
}
