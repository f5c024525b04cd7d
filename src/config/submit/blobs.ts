/** Provides the blobs and tasks of a submission: bundles, source maps, attachments, and task records. */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import type { ConversationMessage, TaskRecord } from '../../trace/task.ts';
import type { FileTask } from '../dataset/columns.ts';
import type { Files } from '../files.ts';
import { codeWorldIn, type LoadedCodeWorld } from '../load/world.ts';
import type { LoadedBatch } from '../load.ts';
import type { SubmittedModule } from '../submission.ts';
import type { BuiltSubmission, SubmitPorts } from '../submit.ts';
import { fileTasks } from './fileTasks.ts';
import { scenarioOf } from './scenarios.ts';

/** A bundled module, as created by `tools/bundle.ts`. */
export interface Bundle {
  /** Relative to the workspace root, with `/`. */
  readonly file: string;
  readonly code: Uint8Array;
  readonly map: Uint8Array;
  readonly bundleSha: string;
  readonly mapSha: string;
}

/** Content for the server's blob store: in memory, or a file to read it from. */
export type SubmissionBlob =
  | { readonly sha: string; readonly media: string; readonly bytes: Uint8Array }
  | { readonly sha: string; readonly media: string; readonly path: string };

/** Bundles each module once, even if agent, world, and scorer share it. */
export class Bundles {
  readonly #ports: SubmitPorts;
  readonly #bundles = new Map<string, Promise<Bundle>>();

  constructor(ports: SubmitPorts) {
    this.#ports = ports;
  }

  async add(path: string): Promise<SubmittedModule> {
    const bundle = this.#bundles.get(path) ?? this.#ports.bundle(path);
    this.#bundles.set(path, bundle);
    const { file, bundleSha, mapSha } = await bundle;
    return { file, path, bundle: bundleSha, map: mapSha };
  }

  async *blobs(): AsyncGenerator<SubmissionBlob> {
    for (const bundle of this.#bundles.values()) {
      const { code, map, bundleSha, mapSha } = await bundle;
      yield { sha: bundleSha, media: 'text/javascript', bytes: code };
      yield { sha: mapSha, media: 'application/json', bytes: map };
    }
  }
}

/** Hashes attachments; each file is read once. */
class Attachments {
  readonly #files: Files;
  readonly #hashes = new Map<string, { sha: string; bytes: number }>();

  constructor(files: Files) {
    this.#files = files;
  }

  async of(path: string): Promise<{ sha: string; bytes: number }> {
    const cached = this.#hashes.get(path);
    if (cached !== undefined) return cached;
    const hash = sha256.create();
    let bytes = 0;
    for await (const chunk of this.#files.bytes(path)) {
      hash.update(chunk);
      bytes += chunk.length;
    }
    const result = { sha: bytesToHex(hash.digest()), bytes };
    this.#hashes.set(path, result);
    return result;
  }
}

/** Names the scenario in the task itself, so that the world needs to know nothing else. */
function withScenario(task: FileTask, world: LoadedCodeWorld): FileTask {
  const scenario = scenarioOf(task, world);
  return scenario === undefined ? task : { ...task, world: { ...task.world, scenario } };
}

/**
 * Returns the blobs and tasks of a batch; both read the dataset on each iteration. `code`: the blobs of its modules and
 * scenarios.
 */
export function blobsAndTasks(
  loaded: LoadedBatch,
  files: Files,
  code: AsyncIterable<SubmissionBlob>,
): Pick<BuiltSubmission, 'blobs' | 'tasks'> {
  const attachments = new Attachments(files);
  return {
    blobs: { [Symbol.asyncIterator]: () => blobs(loaded, files, code, attachments) },
    tasks: { [Symbol.asyncIterator]: () => tasks(loaded, files, attachments) },
  };
}

async function* blobs(
  loaded: LoadedBatch,
  files: Files,
  code: AsyncIterable<SubmissionBlob>,
  attachments: Attachments,
): AsyncGenerator<SubmissionBlob> {
  yield* code;
  if (loaded.dataset.whole && !loaded.dataset.attachments) return;
  const sent = new Set<string>();
  for await (const task of fileTasks(loaded, files)) {
    const conversation = task.messages === undefined ? undefined : conversationBlob(task.messages);
    if (conversation !== undefined && !sent.has(conversation.sha)) {
      sent.add(conversation.sha);
      yield conversation;
    }
    for (const { path } of task.files ?? []) {
      const { sha } = await attachments.of(path);
      if (sent.has(sha)) continue;
      sent.add(sha);
      yield { sha, media: 'application/octet-stream', path };
    }
  }
}

async function* tasks(loaded: LoadedBatch, files: Files, attachments: Attachments): AsyncGenerator<TaskRecord> {
  const world = codeWorldIn(loaded.world);
  for await (const task of fileTasks(loaded, files)) {
    const { files: attached, messages, ...rest } = world === undefined ? task : withScenario(task, world);
    const named = attached?.map(async ({ name, path }) => ({ name, ...(await attachments.of(path)) }));
    yield {
      ...rest,
      ...(messages === undefined ? {} : { messages: conversationRef(messages) }),
      ...(named === undefined ? {} : { files: await Promise.all(named) }),
    };
  }
}

function conversationBlob(messages: readonly ConversationMessage[]): SubmissionBlob & { readonly bytes: Uint8Array } {
  const bytes = new TextEncoder().encode(JSON.stringify(messages));
  return { sha: bytesToHex(sha256(bytes)), media: 'application/json', bytes };
}

function conversationRef(messages: readonly ConversationMessage[]): NonNullable<TaskRecord['messages']> {
  const { sha, bytes } = conversationBlob(messages);
  return { sha, bytes: bytes.length, count: messages.length };
}
