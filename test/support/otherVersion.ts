/** The server and the worker of this checkout, built as if they were of other versions. */
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { nodeBuild } from '../../src/build/bundles.ts';
import { root } from './cli.ts';

export interface OtherVersion {
  readonly worker?: number;
  readonly store?: number;
  /** With the command line and everything that it installs in a cluster. */
  readonly installs?: boolean;
}

/** Where each program that differs comes from. */
const PROGRAMS = {
  server: 'src/server/entry.ts',
  worker: 'src/worker/main.ts',
  reaper: 'src/worker/reaperMain.ts',
  checkpointThread: 'src/store/sqlite/checkpointThread.ts',
  moduleProcess: 'src/tools/modules/process/main.ts',
  toolThread: 'src/tools/modules/thread.ts',
};
const INSTALLING = {
  cli: 'src/cli/entry.ts',
  toolServer: 'src/tools/toolServer/main.ts',
  toolRelay: 'src/tools/toolServer/relay/main.ts',
  readerThread: 'src/tools/builtins/readerThread/thread.ts',
};

/** Programs in a folder of their own, which is laid out like an installed package. */
export class BuiltVersion implements Disposable {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async build({ worker, store, installs = false }: OtherVersion): Promise<BuiltVersion> {
    // Next to the packages that bundles load.
    const folder = mkdtempSync(path.join(root, 'dist', 'version-'));
    const usual = nodeBuild('other');
    await build({
      ...usual,
      entryPoints: Object.entries({ ...PROGRAMS, ...(installs ? INSTALLING : {}) }).map(([out, source]) => ({
        in: source,
        out,
      })),
      outdir: path.join(folder, 'dist'),
      sourcemap: false,
      define: {
        ...usual.define,
        ...(worker === undefined ? {} : { __WORKER_PROTOCOL__: String(worker) }),
        ...(store === undefined ? {} : { __STORE_VERSION__: String(store) }),
      },
    });
    symlinkSync(path.join(root, 'dist', 'webview'), path.join(folder, 'dist', 'webview'), 'junction');
    symlinkSync(path.join(root, 'media'), path.join(folder, 'media'), 'junction');
    return new BuiltVersion(folder);
  }

  file(entry: 'server' | 'worker' | 'cli'): string {
    return path.join(this.#folder, 'dist', `${entry}.mjs`);
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
