/** Collects the calls of recordings in one file, for a recorded world. */
import path from 'node:path';
import { StudioError } from '../../common/errors.ts';
import { plural, withoutEnd } from '../../common/text.ts';
import { type RecordingFile, SourceError } from '../../config/submit/recordings.ts';
import type { Api } from '../../protocol/api.ts';
import { cacheFolder } from '../folders.ts';
import { ContentCache } from '../published/cache.ts';
import { type RecordedRollout, rolloutsOf, rolloutsOfFile, type Unusable } from './sources.ts';
import { type RecordedCallsFile, RecordedCallsWriter } from './writer.ts';

/** A reference, or the absolute path of a file. */
export type RecordedSource = { readonly ref: string } | { readonly path: string };

interface RecordPorts {
  /** Connects to the server that has the rollouts, if there is one. */
  readonly connect: (() => Promise<Api>) | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

export interface Recorded extends RecordedCallsFile {
  /** What is left out of each source, as sentences; by its index. */
  readonly leftOut: readonly { readonly source: number; readonly text: string }[];
}

/**
 * Reads the sources, one rollout at a time; one that several name, once. Throws SourceError for a source that does not
 * exist or has no calls.
 */
export async function recordCalls(sources: readonly RecordedSource[], ports: RecordPorts): Promise<Recorded> {
  const cache = await ContentCache.open(path.join(cacheFolder(ports.env), 'recorded'));
  const writer = await RecordedCallsWriter.open(cache);
  const leftOut: Recorded['leftOut'][number][] = [];
  const seen = new Set<string>();
  try {
    for (const [source, named] of sources.entries()) {
      try {
        for (const text of await addSource(named, writer, seen, ports)) leftOut.push({ source, text });
      } catch (error) {
        if (!StudioError.is(error) || error.code === 'cancelled') throw error;
        throw new SourceError(source, withoutEnd(error.message, '.'), error.hint, error);
      }
    }
    return { ...(await writer.finish()), leftOut };
  } catch (error) {
    await writer.discard();
    throw error;
  }
}

/** Returns what is left out. */
async function addSource(
  source: RecordedSource,
  writer: RecordedCallsWriter,
  seen: Set<string>,
  { connect, signal }: RecordPorts,
): Promise<string[]> {
  const unusable: Unusable = { open: 0 };
  if (!('path' in source) && connect === undefined)
    throw new StudioError('usage', 'recorded attempts cannot be read here', { hint: 'Use `rollout run`.' });
  const rollouts: AsyncIterable<RecordedRollout> =
    'path' in source || connect === undefined
      ? rolloutsOfFile('path' in source ? source.path : '', signal)
      : rolloutsOf(await connect(), source.ref, unusable, signal);
  const counts = { rollouts: 0, calls: 0, empty: 0, lost: 0, open: 0 };
  for await (const { task, question, rollout, read, readBlob } of rollouts) {
    signal.throwIfAborted();
    counts.rollouts++;
    if (seen.has(rollout)) continue;
    seen.add(rollout);
    const { calls, lost, open } = await writer.add({ task, question, rollout }, await read(), readBlob);
    counts.calls += calls;
    counts.lost += lost;
    counts.open += open;
    if (calls === 0) counts.empty++;
  }
  const name = 'path' in source ? path.basename(source.path) : source.ref;
  if (counts.rollouts === 0)
    throw new StudioError('usage', `${name} has no finished rollouts`, {
      hint: unusable.open > 0 ? 'Wait until they have ended.' : 'Name a batch whose rollouts called tools.',
    });
  if (counts.empty === counts.rollouts && counts.open > 0)
    throw new StudioError('usage', `no tool call of ${name} has a result`, {
      hint: 'Name a recording that has the results of its calls.',
    });
  if (counts.empty === counts.rollouts)
    throw new StudioError('usage', `the rollouts of ${name} called no tools`, {
      hint: 'Name a batch whose rollouts called tools.',
    });
  return [
    ...(unusable.open === 0 ? [] : [`${plural(unusable.open, 'rollout')} of ${name} have not ended`]),
    ...(counts.empty === 0 ? [] : [`${plural(counts.empty, 'rollout')} of ${name} called no tools`]),
    ...(counts.open === 0 ? [] : [`${plural(counts.open, 'call')} of ${name} without a result`]),
    ...(counts.lost === 0 ? [] : [`${plural(counts.lost, 'call')} of ${name} have lost values`]),
  ];
}

/** Returns recorded calls as a submission has them. */
export function recordedFile({ sha, path: file, index, blobs, leftOut }: Recorded): RecordingFile {
  return {
    calls: { sha, media: 'application/jsonl', path: file },
    blobs: blobs.map((blob) => ({ ...blob, media: 'application/json' })),
    attempts: index.attempts,
    tools: index.tools.map(({ name }) => name),
    leftOut,
  };
}
