/** Calls exported functions of user modules, such as scorers and rules, in the module's threads. */
import { StudioError } from '../../common/errors.ts';
import type { Json } from '../../common/json.ts';
import type { SubmittedModule } from '../../config/submission.ts';
import type { ToolEnvironment } from '../environment.ts';
import { classed } from './errors.ts';
import { LateLog } from './lateLog.ts';
import { outcomeOf } from './moduleHost.ts';
import type { ModulePool } from './modulePool.ts';
import type { ModulePools } from './pools.ts';
import type { Sinks } from './workerThread.ts';

interface ExportOptions {
  /** Default: those of scorers. */
  readonly pools?: ModulePools;
  /** Answers `ask` of the context, the last argument of the function. */
  readonly ask?: Sinks['ask'];
}

/**
 * Calls an exported function of a module, e.g. a scorer, and returns its result as JSON. Throws StudioError `config` if
 * the module cannot be loaded, and ClassedError if the function fails.
 */
export async function runExport(
  module: SubmittedModule,
  exportName: string,
  args: readonly unknown[],
  environment: ToolEnvironment,
  signal: AbortSignal,
  { ask, pools }: ExportOptions = {},
): Promise<Json> {
  const pool = await openExport(module, exportName, environment, pools);
  try {
    const answer = await pool.run(
      { kind: 'export', name: exportName, args },
      { ...new LateLog(environment.onLog?.bind(environment)).quiet(signal), ...(ask === undefined ? {} : { ask }) },
      true,
    );
    return outcomeOf(answer).response;
  } catch (error) {
    throw classed(error, { pool, cwd: environment.cwd, signal, thrown: 'tool_error', threadLost: 'infrastructure' });
  }
}

/** Loads a module and checks that it has an export. Throws StudioError `config`, with `details.problems`. */
export async function openExport(
  module: SubmittedModule,
  exportName: string,
  environment: ToolEnvironment,
  pools: ModulePools = environment.pools.scorers,
): Promise<ModulePool> {
  const pool = await pools.get(module, environment);
  const loaded = await pool.load();
  if (loaded.exports.includes(exportName)) return pool;
  const names = loaded.exports.length === 0 ? 'nothing' : loaded.exports.join(', ');
  const problem = { file: module.file, line: 1, column: 1, message: `the module does not export "${exportName}"` };
  throw new StudioError('config', `${module.file} does not export "${exportName}".`, {
    hint: `It exports ${names}.`,
    details: { problems: [problem] },
  });
}
