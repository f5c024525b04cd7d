/**
 * zod's main entry with everything it imports, made ready once and put in front of each bundle as it is: the bundler,
 * which is
 * WebAssembly in an installation, takes seconds to read it and would read it at every launch.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { BuildOptions } from 'esbuild';
import { z } from 'zod';
import { zodFolder } from './productFiles.ts';
import { zodFiles } from './zodFiles.ts';

/** What the file is called, beside zod's own files, where an installation has it ready. */
export const ZOD_IN_ONE = 'inOne.json';
/** What the script leaves behind. */
const GLOBAL = '__zod';

const zodInOneFile = z.object({
  /** A script that defines one variable. */
  script: z.string(),
  /** What zod exports. */
  names: z.array(z.string()).min(1),
});
export type ZodInOne = z.infer<typeof zodInOneFile>;

let made: Promise<ZodInOne> | undefined;

export function zodInOne(): Promise<ZodInOne> {
  made ??= readFile(path.join(zodFolder(), ZOD_IN_ONE), 'utf8').then(
    (text) => zodInOneFile.parse(JSON.parse(text)),
    () => buildZodInOne(),
  );
  return made;
}

/** The module that gives what the script made, by zod's own names. */
export function zodModule({ names }: ZodInOne): string {
  const values = names.map((name, index) => `v${index} = ${GLOBAL}[${JSON.stringify(name)}]`);
  const exported = names.map((name, index) => `v${index} as ${name}`);
  return `var ${values.join(', ')};\nexport { ${exported.join(', ')} };`;
}

/** Makes what `zodInOne` gives: the same text on every machine. */
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
