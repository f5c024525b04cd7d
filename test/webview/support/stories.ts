/** Builds and serves the page of stories. */
import { globSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { pageBuild, root } from '../../../src/build/bundles.ts';
import { contentSecurityPolicy, pageHtml } from '../../../src/common/pageHtml.ts';
import { type Served, serveFolders } from './browser.ts';
import { madeOnce } from './madeOnce.ts';

const sources = {
  script: ["'self'"],
  style: ["'self'"],
  font: ["'self'"],
  img: ["'self'", 'data:', 'blob:'],
  connect: ["'self'"],
  worker: ['blob:'],
};

/** All test files share one build. */
export async function serveStories(): Promise<Served> {
  const folder = await madeOnce('webview-stories', sourcesVersion(), buildStories);
  return serveFolders([folder], { 'content-security-policy': contentSecurityPolicy(sources) });
}

/** Differs after a file was changed, added, or removed. */
function sourcesVersion(): string {
  const files = globSync(['{src,webview,media}/**/*', 'package-lock.json'], { cwd: root });
  const newest = Math.max(...files.map((file) => statSync(path.join(root, file)).mtimeMs));
  return `${files.length}-${Math.round(newest)}`;
}

async function buildStories(out: string): Promise<void> {
  await build({
    ...pageBuild('0.0.0'),
    entryPoints: [{ in: 'webview/stories/main.tsx', out: 'page' }],
    outdir: out,
    minify: false,
  });
  writeFileSync(
    path.join(out, 'index.html'),
    pageHtml({
      title: 'Stories',
      sources,
      script: { url: 'page.js' },
      style: { url: 'page.css' },
      bodyAttributes: { 'data-host': 'story' },
    }),
  );
}
