/** The recipe of an image for pods that run code worlds: Node.js, Python, and the packages that they import. */
import { DEFAULTS } from '../../config/defaults.ts';
import { CHROMIUM, isPython } from '../../config/needs.ts';
import { IMPORTS, pinnedPackages } from './setup.ts';

/** The pinned packages were tested with this version. */
const PYTHON_VERSION = '3.11';

export interface ImageRecipe {
  readonly dockerfile: string;
  /** For `pods.provides`. */
  readonly provides: readonly string[];
}

/** The first words of every recipe. */
const START = '# Image of pods for ';

/** Returns whether a file was written as a recipe. */
export function isRecipe(text: string): boolean {
  return text.startsWith(START);
}

/**
 * Returns the recipe of an image for a world. `file`: its name, for a comment. `needs`: the programs that it needs,
 * which are packages of Debian with the same names.
 */
export async function imageRecipe(file: string, needs: readonly string[] = []): Promise<ImageRecipe> {
  const others = needs.filter((name) => !isPython(name));
  const programs = [...new Set(others.map((name) => (name === 'browser' ? CHROMIUM : name)))];
  const packages = await pinnedPackages();
  const installed =
    programs.length === 0
      ? []
      : [
          '# What the world needs besides Python. Change the names of packages that have others in Debian.',
          `RUN apt-get update && apt-get install --yes --no-install-recommends ${programs.join(' ')} \\`,
          '    && rm -rf /var/lib/apt/lists/*',
        ];
  const lines = [
    `${START}${file}: Node.js, Python, and the packages of \`rollout world setup\`.`,
    `FROM ${DEFAULTS.pods.image} AS node`,
    '',
    `FROM python:${PYTHON_VERSION}-slim`,
    'COPY --from=node /usr/local/bin/node /usr/local/bin/node',
    ...installed,
    'RUN python3 -m pip install --no-cache-dir --no-deps \\',
    ...packages.map((each, index) => `    ${each}${index === packages.length - 1 ? '' : ' \\'}`),
    '# In pods, this file system is read-only: Python would compile its library at each start.',
    `RUN python3 -m compileall -q -x '/(tests?|lib2to3)/' /usr/local/lib/python${PYTHON_VERSION}`,
    `RUN node --version && python3 -c '${IMPORTS}'`,
  ];
  return { dockerfile: `${lines.join('\n')}\n`, provides: ['python', ...others] };
}
