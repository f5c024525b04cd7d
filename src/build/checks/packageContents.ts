/** What an installed package holds, held against what it should hold and how large it may be. */
import { z } from 'zod';
import { npm } from '../system/npm.ts';

/** Everything that may be in the package; a file that matches none of these leaked into it. */
const ALLOWED: readonly RegExp[] = [
  /^package\.json$/,
  /^README\.md$/,
  /^LICENSE$/,
  /^CHANGELOG\.md$/,
  /^ThirdPartyNotices\.txt$/,
  /^dist\/(extension|cli|server|worker|reaper|toolThread|readerThread|language)\.mjs$/,
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
  'dist/toolThread.mjs',
  'dist/readerThread.mjs',
  'dist/language.mjs',
  'media/sample/gitignore',
  'README.md',
  'LICENSE',
  'ThirdPartyNotices.txt',
];
/** Unpacked, without dependencies that stay outside the bundles. */
const MAX_BYTES = 20 * 1024 * 1024;

const listing = z.array(z.object({ unpackedSize: z.number(), files: z.array(z.object({ path: z.string() })) })).min(1);

/** One line for each thing that is wrong with the package. Needs `dist/`. */
export function packageProblems(root: string): string[] {
  const printed = npm(['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=silent'], root);
  const pack = listing.parse(JSON.parse(printed))[0];
  const files = (pack?.files ?? []).map((file) => file.path);
  const problems = files
    .filter((file) => !ALLOWED.some((pattern) => pattern.test(file)))
    .map((file) => `${file}: is in the package and should not be`);
  problems.push(
    ...REQUIRED.filter((file) => !files.includes(file)).map((file) => `${file}: is missing in the package`),
  );
  if ((pack?.unpackedSize ?? 0) > MAX_BYTES)
    problems.push(`the package is ${String(pack?.unpackedSize)} bytes, more than ${MAX_BYTES}`);
  return problems;
}
