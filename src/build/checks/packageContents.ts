/** Checks the contents and the size of an installed package. */
import { z } from 'zod';
import { npm } from '../system/npm.ts';

/** Everything that may be in the package; a file that matches none of these does not belong there. */
const ALLOWED: readonly RegExp[] = [
  /^package\.json$/,
  /^README\.md$/,
  /^LICENSE$/,
  /^CHANGELOG\.md$/,
  /^ThirdPartyNotices\.txt$/,
  /^dist\/(extension|cli|server|worker|reaper|moduleProcess|tool(Server|Relay|Thread)|readerThread)\.mjs$/,
  /^dist\/(template|language|checkpointThread)\.mjs$/,
  /^dist\/chunks\/[\w.-]+\.mjs$/,
  /^dist\/webview\/[\w-]+\.(js|css|ttf)$/,
  /^media\/(sample|gaia)\//,
  /^media\/schemas\/[a-z]+\.schema\.json$/,
  /^media\/[\w-]+\.(png|svg)$/,
  /^src\/tools\/sdk\.ts$/,
];
const REQUIRED = [
  'dist/cli.mjs',
  'dist/server.mjs',
  'dist/worker.mjs',
  'dist/reaper.mjs',
  'dist/moduleProcess.mjs',
  'dist/toolServer.mjs',
  'dist/toolRelay.mjs',
  'dist/toolThread.mjs',
  'dist/readerThread.mjs',
  'dist/checkpointThread.mjs',
  'dist/template.mjs',
  'dist/language.mjs',
  'media/sample/gitignore',
  'README.md',
  'LICENSE',
  'ThirdPartyNotices.txt',
];
/** Maximum size, unpacked, without dependencies outside the bundles. */
const MAX_BYTES = 20 * 1024 * 1024;

const listing = z.array(z.object({ unpackedSize: z.number(), files: z.array(z.object({ path: z.string() })) })).min(1);

/** Returns one line for each problem of the package. Needs `dist/`. */
export function packageProblems(root: string): string[] {
  const printed = npm(['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=silent'], root);
  const pack = listing.parse(JSON.parse(printed))[0];
  const files = (pack?.files ?? []).map((file) => file.path);
  const problems = files
    .filter((file) => !ALLOWED.some((pattern) => pattern.test(file)))
    .map((file) => `${file}: must not be in the package`);
  problems.push(
    ...REQUIRED.filter((file) => !files.includes(file)).map((file) => `${file}: is missing from the package`),
  );
  if ((pack?.unpackedSize ?? 0) > MAX_BYTES)
    problems.push(`the package is ${String(pack?.unpackedSize)} bytes; the maximum is ${MAX_BYTES}`);
  return problems;
}
