/** Reads what simulated worlds take from elsewhere, on the machine that submits them. */

import { allowedEnvironment } from '../../common/environment.ts';
import { StudioError } from '../../common/errors.ts';
import { type Redactor, redactor } from '../../common/redaction/redactor.ts';
import { envNamesIn, resolveEnv } from '../../config/env.ts';
import type { Files } from '../../config/files.ts';
import { joinPath } from '../../config/paths.ts';
import type { SubmissionBlob } from '../../config/submit/blobs.ts';
import type { SimulationPorts } from '../../config/submit/simulation.ts';
import type { Api } from '../../protocol/api.ts';
import { ClassedError } from '../../trace/classedError.ts';
import { isReference } from '../reference.ts';
import { factPorts } from './facts/read.ts';

export interface SimulationPlace {
  /** Folder of the workspace. */
  readonly root: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly files: Files;
  /** Connects to the store that has recorded attempts. Absent: none can be read. */
  readonly connect?: (() => Promise<Api>) | undefined;
  readonly signal: AbortSignal;
}

/** More text than any state has. */
const MAX_OUTPUT = 4 * 1024 * 1024;
/** The end of what a failed program printed. */
const MAX_REASON = 2_000;

export function simulationPorts({ root, env, files, connect, signal }: SimulationPlace): SimulationPorts {
  const withValues = <T>(value: T): { readonly value: T; readonly secrets: Redactor } => {
    const names = envNamesIn(JSON.stringify(value));
    const values = Object.fromEntries(names.map((name) => [name, env[name] ?? '']));
    return { value: resolveEnv(value, values), secrets: redactor(Object.values(values)) };
  };
  return {
    async listTools(entries, blobs) {
      const { value, secrets } = withValues(entries);
      const { listSpecs } = await import('../../tools/listSpecs.ts');
      const kept = await inMemory(blobs);
      const specs = await listSpecs(
        value,
        {
          root,
          readBlob: (sha) => {
            const bytes = kept.get(sha);
            return bytes === undefined
              ? Promise.reject(new StudioError('internal', `Blob ${sha} not found.`))
              : Promise.resolve(bytes);
          },
        },
        signal,
      );
      return secrets.json(
        specs.map(({ name, description, parameters, output }) => ({
          name,
          description,
          parameters,
          ...(output === undefined ? {} : { output }),
        })),
      );
    },
    async tables(database, names) {
      await files.stat(database); // it must be where files are read
      const { readTables } = await import('./tables.ts');
      return await readTables(database, names);
    },
    ...factPorts(files, signal),
    async queryRows(database, query, chars) {
      await files.stat(database); // it must be where files are read
      const { readQuery } = await import('./queries.ts');
      return await readQuery(database, query, chars, signal);
    },
    async run(command, folder, seconds) {
      const { value, secrets } = withValues(command);
      return secrets.text(await printed(value, folder, seconds, signal));
    },
    async recordings(reference, folder) {
      const { readRecordings } = await import('./recording.ts');
      const file = files.absolute(joinPath(folder, reference));
      const isFile = !isReference(reference) && (await files.stat(file))?.kind === 'file';
      return await readRecordings(reference, isFile ? file : undefined, connect, signal);
    },
  };
}

async function inMemory(blobs: AsyncIterable<SubmissionBlob>): Promise<ReadonlyMap<string, Uint8Array>> {
  const kept = new Map<string, Uint8Array>();
  for await (const blob of blobs) if ('bytes' in blob) kept.set(blob.sha, blob.bytes); // bundles are in memory
  return kept;
}

/** Returns what a program prints to stdout. Throws StudioError `config` if it fails. */
async function printed(
  [file = '', ...args]: readonly string[],
  cwd: string,
  seconds: number,
  signal: AbortSignal,
): Promise<string> {
  const [{ runProcess }, { Output }, { ownGroups }, { RolloutProcesses }] = await Promise.all([
    import('../../tools/processes/runProcess.ts'),
    import('../../tools/processes/output.ts'),
    import('../../tools/processes/ownGroups.ts'),
    import('../../tools/processes/processGroups.ts'),
  ]);
  const processGroups = new RolloutProcesses(ownGroups());
  const output = { out: new Output(MAX_OUTPUT), err: new Output() };
  try {
    const { code, timedOut } = await runProcess({
      file,
      args,
      cwd,
      env: allowedEnvironment(process.env),
      output,
      timeoutMs: seconds * 1000,
      signal,
      processGroups,
    });
    if (timedOut)
      throw new StudioError('config', `\`${file}\` was still running after ${seconds} s`, {
        hint: 'Make it faster, or increase `timeout`.',
      });
    if (code !== 0) {
      const reason = output.err.text.trim().slice(-MAX_REASON);
      throw new StudioError(
        'config',
        `\`${file}\` failed with exit code ${code ?? 'none'}${reason === '' ? '' : `: ${reason}`}`,
        {
          hint: 'Run it in the folder of the world file to see why.',
        },
      );
    }
    return output.out.text;
  } catch (error) {
    if (!(error instanceof ClassedError)) throw error;
    throw new StudioError(error.class === 'cancelled' ? 'cancelled' : 'config', error.message, {
      hint: 'Check the command.',
      cause: error,
    });
  } finally {
    await processGroups.end();
  }
}
