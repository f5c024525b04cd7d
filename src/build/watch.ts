/**
 * `npm run watch`: bundles again whenever a source changes, until Ctrl-C. Only what depends on the change is built, so
 * a changed file is in `dist/` in about a second.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { type BuildResult, context, type Plugin } from 'esbuild';
import { allBuilds, root } from './bundles.ts';
import { packageVersion } from './packageVersion.ts';

const contexts = await Promise.all(
  allBuilds(packageVersion()).map((options) =>
    context({ ...options, metafile: true, plugins: [...(options.plugins ?? []), reporting()] }),
  ),
);
await Promise.all(contexts.map((each) => each.watch()));
console.log('Watching src and webview. Press Ctrl-C to stop.');

/** Prints what a build produced and how long it took; esbuild itself prints errors. */
function reporting(): Plugin {
  return {
    name: 'reporting',
    setup(build) {
      let start = 0;
      build.onStart(() => {
        start = performance.now();
      });
      build.onEnd((result: BuildResult) => {
        // `npm run` and `npm test` find the bundles up to date.
        if (result.errors.length === 0) writeFileSync(path.join(root, 'dist', '.stamp'), '');
        const outcome = result.errors.length === 0 ? 'built' : 'FAILED';
        console.log(`${outcome} ${entriesText(build.initialOptions.entryPoints)} in ${seconds(start)} s`);
      });
    },
  };
}

function entriesText(entries: unknown): string {
  if (!Array.isArray(entries)) return 'dist';
  return entries
    .map((entry: string | { out: string }) => (typeof entry === 'string' ? path.parse(entry).name : entry.out))
    .join(', ');
}

function seconds(start: number): string {
  return ((performance.now() - start) / 1000).toFixed(1);
}
