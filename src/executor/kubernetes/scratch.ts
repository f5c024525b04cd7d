/**
 * How much disk the pods of a batch need for what it brings along: files of tasks, databases of worlds, and what
 * programs of tools download. Pure.
 */
import { StudioError } from '../../common/errors.ts';
import { bytes } from '../../common/units.ts';
import { diskNeeds } from '../../config/needs.ts';
import type { Submission } from '../../config/submission.ts';
import { parseQuantity } from '../../kubernetes/quantity.ts';
import type { Attached } from '../executor.ts';

/** MiB for the pod, and for each of its concurrent rollouts. */
export interface Amount {
  readonly base: number;
  readonly each: number;
}

/** In addition to what every batch gets. */
export interface Scratch {
  /** For sure: what a node must have free. */
  readonly request: Amount;
  /** Room in the volumes of working directories, and of what programs write elsewhere. */
  readonly work: Amount;
  readonly other: Amount;
}

const MIB = 1024 * 1024;
/** Programs change files, and write their own next to them. */
const FILE_COPIES = 2;
/** The template, the state of a session, what it was before a call, and a snapshot. */
const STATE_COPIES = 4;
/** The template, and the state of a session. */
const SURE_STATE_COPIES = 2;

/** Returns the disk that a batch needs. Nothing is attached: only what its tools need. */
export function scratchOf(submission: Submission, { files, state }: Attached = { files: 0, state: 0 }): Scratch {
  const programs = diskNeeds(submission);
  return {
    request: {
      base: Math.ceil(programs.base / 4),
      each: Math.ceil((files + SURE_STATE_COPIES * state) / MIB) + Math.ceil(programs.each / 4),
    },
    work: { base: 0, each: Math.ceil((FILE_COPIES * files + STATE_COPIES * state) / MIB) },
    other: programs,
  };
}

/** Returns the bytes that rollouts of a pod have on its disk for sure. */
export function sureBytes({ files, state }: Attached, slots: number): number {
  return (files + SURE_STATE_COPIES * state) * slots;
}

/**
 * Throws StudioError `config` if what a batch attaches does not fit where the batch, the installation, or `of` says how
 * much there is.
 */
export function requireRoom(
  { file }: Pick<Submission, 'file'>,
  attached: Attached,
  slots: number,
  limit: { readonly text: string; readonly bytes: number; readonly remedy: string } | undefined,
): void {
  const needed = sureBytes(attached, slots);
  if (limit === undefined || needed <= limit.bytes) return;
  const each = sureBytes(attached, 1);
  const what = [
    ...(attached.files === 0 ? [] : [`files of a task (${bytes(attached.files)})`]),
    ...(attached.state === 0 ? [] : [`databases of a scenario (2 × ${bytes(attached.state)})`]),
  ].join(' and ');
  const times = slots === 1 ? '' : `, for each of ${slots} concurrent rollouts in a pod`;
  const fitting = Math.floor(limit.bytes / each);
  const fewer =
    fitting === 0 ? '' : `, or run at most ${fitting} in a pod: lower \`concurrency\`, or raise \`pods.count\``;
  throw new StudioError(
    'config',
    `${file}: pods need ${bytes(needed)} of disk for ${what}${times}, but ${limit.text} ${bytes(limit.bytes)}.`,
    { hint: `${limit.remedy}${fewer}.` },
  );
}

/** Returns the limit that a batch or its installation sets. */
export function ownLimit(limits: Readonly<Record<string, string>> | undefined): Parameters<typeof requireRoom>[3] {
  const limit = limits?.['ephemeral-storage'];
  const size = limit === undefined ? undefined : parseQuantity(limit);
  return size === undefined
    ? undefined
    : {
        text: `\`pods.limits\` allows an ephemeral-storage of ${limit ?? ''}, which is`,
        bytes: size,
        remedy: 'Raise `pods.limits.ephemeral-storage`',
      };
}
