/** The server and the worker of this checkout, built as if they were of other versions. */
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { nodeBuild } from '../../src/build/bundles.ts';
import { root } from './cli.ts';

export interface OtherVersion {
  readonly worker?: number;
  readonly store?: number;
}

/** Programs in a folder of their own. */
export class BuiltVersion implements Disposable {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async build({ worker, store }: OtherVersion): Promise<BuiltVersion> {
    // Next to the packages that bundles load.
    const folder = mkdtempSync(path.join(root, 'dist', 'version-'));
    const usual = nodeBuild('other');
    await build({
      ...usual,
      entryPoints: [
        { in: 'src/server/entry.ts', out: 'server' },
        { in: 'src/worker/main.ts', out: 'worker' },
        { in: 'src/worker/reaperMain.ts', out: 'reaper' },
        { in: 'src/store/sqlite/checkpointThread.ts', out: 'checkpointThread' },
        { in: 'src/tools/modules/process/main.ts', out: 'moduleProcess' },
        { in: 'src/tools/modules/thread.ts', out: 'toolThread' },
      ],
      outdir: folder,
      sourcemap: false,
      define: {
        ...usual.define,
        ...(worker === undefined ? {} : { __WORKER_PROTOCOL__: String(worker) }),
        ...(store === undefined ? {} : { __STORE_VERSION__: String(store) }),
      },
    });
    symlinkSync(path.join(root, 'dist', 'webview'), path.join(folder, 'webview'), 'junction');
    return new BuiltVersion(folder);
  }

  file(entry: 'server' | 'worker'): string {
    return path.join(this.#folder, `${entry}.mjs`);
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
