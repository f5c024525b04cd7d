import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Plugin } from 'esbuild';

/**
 * `import { z } from 'zod'` bundles all of zod, including its messages in fifty languages, because the bundler cannot
 * know what is used of the object. For `import * as z`, which is the same object, it can.
 */
export function zodByParts(): Plugin {
  return {
    name: 'zod-by-parts',
    setup(build) {
      build.onLoad({ filter: /[\\/](src|webview)[\\/].*\.tsx?$/, namespace: 'file' }, async ({ path: file }) => {
        if (file.includes('node_modules')) return undefined;
        const text = await readFile(file, 'utf8');
        return text.includes("import { z } from 'zod'")
          ? {
              contents: text.replace("import { z } from 'zod'", "import * as z from 'zod'"),
              loader: path.extname(file) === '.tsx' ? 'tsx' : 'ts',
            }
          : undefined;
      });
    },
  };
}
