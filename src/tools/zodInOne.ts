/**
 * zod's main entry with all its imports, bundled once and inserted at the start of each bundle: the WebAssembly bundler
 * of an installation would need seconds to parse it at every launch.
 */
import { readFile } from 'node:fs/promises';
import type { BuildOptions } from 'esbuild';
import { z } from 'zod';
import { packageUrl } from '../common/entries.ts';
import { zodFolder } from './productFiles.ts';
import { zodFiles } from './zodFiles.ts';

/** Prebuilt by `build.ts`, because bundling zod takes longer than the modules of most batches. */
export const ZOD_IN_ONE = 'dist/zodInOne.json';
/** Global variable that the script defines. */
const GLOBAL = '__zod';

const zodInOneFile = z.object({
  /** A script that defines one variable. */
  script: z.string(),
  /** Names of zod's exports. */
  names: z.array(z.string()).min(1),
});
type ZodInOne = z.infer<typeof zodInOneFile>;

let cached: Promise<ZodInOne> | undefined;

export function zodInOne(): Promise<ZodInOne> {
  cached ??= readFile(packageUrl(ZOD_IN_ONE), 'utf8').then(
    (text) => zodInOneFile.parse(JSON.parse(text)),
    () => buildZodInOne(),
  );
  return cached;
}

/** Returns a module that exports the script's values with zod's names. */
export function zodModule({ names }: ZodInOne): string {
  const values = names.map((name, index) => `v${index} = ${GLOBAL}[${JSON.stringify(name)}]`);
  const exported = names.map((name, index) => `v${index} as ${name}`);
  return `var ${values.join(', ')};\nexport { ${exported.join(', ')} };`;
}

/** Builds the result of `zodInOne`, which is the same on every machine. */
export async function buildZodInOne(): Promise<ZodInOne> {
  const { build } = await import('esbuild');
  const common = {
    stdin: { contents: "export * from 'zod'; export { default } from 'zod';", loader: 'js' },
    absWorkingDir: zodFolder(),
    write: false,
    bundle: true,
    platform: 'node',
    target: 'node22',
    minifyWhitespace: true,
    legalComments: 'none',
    charset: 'utf8',
    logLevel: 'silent',
    plugins: [zodFiles()],
  } satisfies BuildOptions;
  const [script, module] = await Promise.all([
    build({ ...common, format: 'iife', globalName: GLOBAL }),
    build({ ...common, format: 'esm', metafile: true }),
  ]);
  const names = Object.values(module.metafile.outputs)
    .flatMap((output) => output.exports)
    .sort();
  return zodInOneFile.parse({
    script: Buffer.from(script.outputFiles[0]?.contents ?? [])
      .toString('utf8')
      .trimEnd(),
    names,
  });
}
