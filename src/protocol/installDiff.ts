/** What an installation in a cluster would change: the document of `rollout cluster diff --json`. */
import { z } from 'zod';

export const OBJECT_CHANGES = ['create', 'change', 'remove', 'same', 'stays'] as const;

const fieldDiff = z.object({
  /** As in `spec.template.spec.containers[0].image`. */
  path: z.string(),
  /** Absent: it has no value. */
  before: z.unknown().optional(),
  after: z.unknown().optional(),
});
export type FieldDiff = z.infer<typeof fieldDiff>;

const objectDiff = z.object({
  kind: z.string(),
  name: z.string(),
  change: z.enum(OBJECT_CHANGES),
  /** What changes; only of an object that exists before and after. */
  fields: z.array(fieldDiff),
  /** The object as YAML, without the values of Secrets and what the API server maintains. */
  before: z.string().optional(),
  after: z.string().optional(),
});
export type ObjectDiff = z.infer<typeof objectDiff>;

export const installDiff = z.object({
  namespace: z.string(),
  /** Whether the server is installed, so that this is an upgrade. */
  installed: z.boolean(),
  objects: z.array(objectDiff),
  /** What the installation would report besides. */
  notes: z.array(z.string()),
});
export type InstallDiff = z.infer<typeof installDiff>;

/** Returns the objects that would not stay as they are. */
export function changedObjects({ objects }: Pick<InstallDiff, 'objects'>): ObjectDiff[] {
  return objects.filter(({ change }) => change !== 'same' && change !== 'stays');
}
