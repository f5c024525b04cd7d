/** Checks whether a worker could load modules, by loading them in threads like a worker's. Calls nothing in them. */
import type { BuiltModule, LoadModules, ModuleUse } from '../client/commands/checkDisk.ts';
import { StudioError } from '../common/errors.ts';
import type { SubmittedModule } from '../config/submission.ts';
import type { ToolEnvironment } from '../tools/environment.ts';
import { openExport } from '../tools/modules/exports.ts';
import { openModule } from '../tools/modules/moduleHost.ts';
import { withTryEnvironment, workspaceSandbox } from './tryEnvironment.ts';

/** Returns the loader. When `signal` aborts, it ends every thread and throws StudioError `cancelled`. */
export function modulesLoader(signal: AbortSignal): LoadModules {
  return async (modules, root) => {
    if (modules.length === 0) return [];
    const blobs = new Map(
      modules.flatMap(({ bundle }) => [[bundle.bundleSha, bundle.code] as const, [bundle.mapSha, bundle.map] as const]),
    );
    const task = { id: 'check', question: '', meta: {} };
    return withTryEnvironment({ blobs, task, sandbox: workspaceSandbox(root), signal }, async (environment) => {
      const errors: StudioError[] = [];
      for (const module of modules) errors.push(...(await loadErrors(module, environment)));
      return errors;
    });
  };
}

async function loadErrors({ bundle, uses }: BuiltModule, environment: ToolEnvironment): Promise<StudioError[]> {
  const module: SubmittedModule = { file: bundle.file, bundle: bundle.bundleSha, map: bundle.mapSha };
  const errors = new Map<string, StudioError>();
  for (const use of uses) {
    try {
      await load(module, use, environment);
    } catch (error) {
      if (!StudioError.is(error, 'config')) throw error;
      errors.set(error.message, error); // a module that cannot be loaded fails the same way for each use
    }
  }
  return [...errors.values()];
}

async function load(module: SubmittedModule, use: ModuleUse, environment: ToolEnvironment): Promise<void> {
  if (use.kind === 'export') await openExport(module, use.name, environment);
  else await (await openModule(module, environment)).close();
}
